#!/bin/sh
# Starts the Ondol that this bundle was made for.
ondol=@ONDOL@
if [ ! -x "$ondol" ]; then
    osascript -e 'display alert "Ondol is not where it was" message "Its folder was moved or removed. Run “make app” in the folder that holds Ondol now." as critical'
    exit 1
fi
cd "$HOME" || exit 1
exec "$ondol" "$@"

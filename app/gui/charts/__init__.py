"""Charts, painted by hand: a few quiet lines, cheap enough to stay on screen all day.

`series` keeps figures, `scale` finds round numbers, `plots` turns figures into shapes, `chart` is
the widget, `legend` names its series. None of them knows what the figures mean.
"""

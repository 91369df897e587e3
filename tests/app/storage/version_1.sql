BEGIN TRANSACTION;
CREATE TABLE minute (
            started_at INTEGER PRIMARY KEY CHECK (started_at % 60 = 0),
            requests INTEGER NOT NULL,
            hits INTEGER NOT NULL,
            prompt_tokens INTEGER NOT NULL,
            cached_tokens INTEGER NOT NULL,
            computed_tokens INTEGER NOT NULL,
            completion_tokens INTEGER NOT NULL,
            prefill_s REAL NOT NULL,
            decode_s REAL NOT NULL,
            cold_ttft_count INTEGER NOT NULL,
            cold_ttft_sum_s REAL NOT NULL,
            cold_ttft_max_s REAL NOT NULL,
            warm_ttft_count INTEGER NOT NULL,
            warm_ttft_sum_s REAL NOT NULL,
            warm_ttft_max_s REAL NOT NULL,
            evicted_pages INTEGER NOT NULL,
            evicted_bytes INTEGER NOT NULL,
            peak_resident_bytes INTEGER NOT NULL,
            peak_pinned_bytes INTEGER NOT NULL,
            peak_running_bytes INTEGER NOT NULL
        ) STRICT;
INSERT INTO "minute" VALUES(1800000540,1,1,2000,1500,500,60,0.25,1.0,0,0.0,0.0,1,0.26,0.26,0,0,4096,0,0);
CREATE TABLE pin (
            template_id INTEGER PRIMARY KEY REFERENCES template ON DELETE CASCADE,
            version INTEGER,
            pinned_at REAL NOT NULL,
            with_template_id INTEGER REFERENCES template ON DELETE SET NULL,
            FOREIGN KEY (template_id, version) REFERENCES template_version (template_id, number)
        ) STRICT;
INSERT INTO "pin" VALUES(1,NULL,1800000200.0,NULL);
INSERT INTO "pin" VALUES(2,1,1800000300.0,1);
CREATE TABLE preference (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL CHECK (json_valid(value))
        ) STRICT, WITHOUT ROWID;
INSERT INTO "preference" VALUES('appearance','"dark"');
INSERT INTO "preference" VALUES('launched_before','true');
INSERT INTO "preference" VALUES('port','9000');
CREATE TABLE request (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            client TEXT NOT NULL,
            model TEXT NOT NULL,
            priority INTEGER NOT NULL,
            reason TEXT NOT NULL,
            prompt_tokens INTEGER NOT NULL,
            cached_tokens INTEGER NOT NULL,
            completion_tokens INTEGER NOT NULL,
            queue_s REAL NOT NULL,
            prefill_s REAL NOT NULL,
            decode_s REAL NOT NULL,
            ttft_s REAL NOT NULL,
            total_s REAL NOT NULL,
            ended_at REAL NOT NULL
        ) STRICT;
INSERT INTO "request" VALUES(1,'chatcmpl-1','openai','tiny',0,'stop',2000,1500,60,0.01,0.25,1.0,0.26,1.26,1800000550.0);
CREATE TABLE template (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            name_key TEXT NOT NULL,
            kind TEXT NOT NULL,
            created_at REAL NOT NULL,
            deleted_at REAL
        ) STRICT;
INSERT INTO "template" VALUES(1,'House rules','house rules','system_policy',1800000000.0,NULL);
INSERT INTO "template" VALUES(2,'Kitchen tools','kitchen tools','tool_schema',1800000050.0,NULL);
INSERT INTO "template" VALUES(3,'Old list','old list','document',1800000060.0,1800000400.0);
CREATE TABLE template_tag (
            template_id INTEGER NOT NULL REFERENCES template ON DELETE CASCADE,
            position INTEGER NOT NULL,
            tag TEXT NOT NULL,
            tag_key TEXT NOT NULL,
            PRIMARY KEY (template_id, position),
            UNIQUE (template_id, tag_key)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "template_tag" VALUES(1,0,'kitchen','kitchen');
INSERT INTO "template_tag" VALUES(1,1,'온돌','온돌');
CREATE TABLE template_version (
            template_id INTEGER NOT NULL REFERENCES template ON DELETE CASCADE,
            number INTEGER NOT NULL,
            text TEXT,
            tools_json TEXT,
            note TEXT NOT NULL,
            created_at REAL NOT NULL,
            PRIMARY KEY (template_id, number),
            CHECK ((text IS NULL) <> (tools_json IS NULL))
        ) STRICT;
INSERT INTO "template_version" VALUES(1,1,'Be brief.',NULL,'',1800000000.0);
INSERT INTO "template_version" VALUES(1,2,'Be brief.
Be kind; it''s home.',NULL,'kinder',1800000100.0);
INSERT INTO "template_version" VALUES(2,1,NULL,'[{"type": "function", "function": {"name": "oven"}}]','',1800000050.0);
INSERT INTO "template_version" VALUES(3,1,'eggs',NULL,'',1800000060.0);
CREATE UNIQUE INDEX living_template_name ON template (name_key) WHERE deleted_at IS NULL;
CREATE TRIGGER version_is_immutable BEFORE UPDATE ON template_version BEGIN
            SELECT RAISE(ABORT, 'a version never changes');
        END;
CREATE TRIGGER version_follows_the_last BEFORE INSERT ON template_version
        WHEN NEW.number <> 1 + (
            SELECT COALESCE(MAX(number), 0) FROM template_version
            WHERE template_id = NEW.template_id
        ) BEGIN
            SELECT RAISE(ABORT, 'versions are numbered without gaps');
        END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('template',3);
PRAGMA user_version = 1;
COMMIT;

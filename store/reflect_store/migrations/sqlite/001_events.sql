-- Layout 1: the events alone, which are the truth of the store.

CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY CHECK (seq > 0),
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    time TEXT NOT NULL,
    digest TEXT NOT NULL,
    hash TEXT NOT NULL,
    -- Both are NULL once the payload is erased.
    nonce TEXT,
    payload BLOB,
    CHECK ((nonce IS NULL) = (payload IS NULL))
) STRICT;

CREATE INDEX events_by_time ON events (time, id);

CREATE INDEX events_redacted ON events (seq) WHERE payload IS NULL;

CREATE TRIGGER events_are_kept BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'an event is never deleted');
END;

CREATE TRIGGER events_follow_each_other BEFORE INSERT ON events
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM events)
BEGIN
    SELECT RAISE(ABORT, 'an event follows the last one');
END;

-- The one change that an event can undergo: its payload and nonce are erased.
CREATE TRIGGER events_stay_as_they_are BEFORE UPDATE ON events
WHEN NEW.payload IS NOT NULL
    OR NEW.seq IS NOT OLD.seq
    OR NEW.id IS NOT OLD.id
    OR NEW.type IS NOT OLD.type
    OR NEW.time IS NOT OLD.time
    OR NEW.digest IS NOT OLD.digest
    OR NEW.hash IS NOT OLD.hash
BEGIN
    SELECT RAISE(ABORT, 'an event is never rewritten');
END;

-- name: objects
SELECT COUNT(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\';

-- name: application_id
PRAGMA application_id;

-- name: layout
PRAGMA user_version;

-- name: journal
PRAGMA journal_mode;

-- name: use_wal
PRAGMA journal_mode = WAL;

-- name: begin_reading
BEGIN DEFERRED;

-- name: begin_writing
BEGIN IMMEDIATE;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: integrity
PRAGMA integrity_check(20);

-- name: foreign_keys
PRAGMA foreign_key_check;

-- name: checkpoint
PRAGMA wal_checkpoint(TRUNCATE);

-- name: compact
VACUUM;

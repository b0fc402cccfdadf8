-- The projections have one form, so each statement serves them all: {table} and {columns} are names of `tables.TABLES`, {marks} one
-- question mark a column, {sets} assigns each column its new value, {where} compares columns with question marks.

-- name: get
SELECT row FROM {table} WHERE key = ?;

-- name: many
SELECT held.key, held.row FROM json_each(?) AS wanted CROSS JOIN {table} AS held ON held.key = wanted.value;

-- name: put
INSERT INTO {table} (key, time, event, row{columns}) VALUES (?, ?, ?, ?{marks})
ON CONFLICT (key) DO UPDATE SET time = excluded.time, event = excluded.event, row = excluded.row{sets};

-- name: drop
DELETE FROM {table} WHERE key = ?;

-- name: select_oldest
SELECT time, event, key, row FROM {table} WHERE (time, event, key) > (?, ?, ?){where} ORDER BY time, event, key LIMIT ?;

-- name: select_newest
SELECT time, event, key, row FROM {table} WHERE (time, event, key) < (?, ?, ?){where} ORDER BY time DESC, event DESC, key DESC LIMIT ?;

-- name: count
SELECT COUNT(*) FROM {table} WHERE 1{where};

-- name: scan
SELECT key, row FROM {table} WHERE key > ? ORDER BY key LIMIT ?;

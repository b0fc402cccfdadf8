-- name: head
SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1;

-- name: last_time
SELECT COALESCE(MAX(time), '') FROM events;

-- name: add
INSERT INTO events (seq, id, type, time, digest, hash, nonce, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: find
SELECT seq, id, type, time, digest, hash, nonce, payload FROM events WHERE id = ?;

-- name: by_seq
SELECT seq, id, type, time, digest, hash, nonce, payload FROM events WHERE seq > ? ORDER BY seq LIMIT ?;

-- name: by_time
SELECT seq, id, type, time, digest, hash, nonce, payload FROM events WHERE (time, id) > (?, ?) ORDER BY time, id LIMIT ?;

-- name: erase
UPDATE events SET nonce = NULL, payload = NULL WHERE id = ?;

-- name: redacted
SELECT COUNT(*) FROM events WHERE payload IS NULL;

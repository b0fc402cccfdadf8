-- Every statement names the tenant by itself, although the policies do too: a superuser is bound by no policy.

-- name: head
SELECT seq, hash, (SELECT max(time) FROM reflect_gate.events WHERE tenant = (SELECT reflect_gate.tenant()))
FROM reflect_gate.events WHERE tenant = (SELECT reflect_gate.tenant()) ORDER BY seq DESC LIMIT 1;

-- name: add
INSERT INTO reflect_gate.events (tenant, seq, id, type, time, digest, hash, nonce, payload)
VALUES ((SELECT reflect_gate.tenant()), %s, %s, %s, %s, %s, %s, %s, %b);

-- name: find
SELECT seq, id, type, time, digest, hash, nonce, payload FROM reflect_gate.events
WHERE tenant = (SELECT reflect_gate.tenant()) AND id = %s;

-- name: by_seq
SELECT seq, id, type, time, digest, hash, nonce, payload FROM reflect_gate.events
WHERE tenant = (SELECT reflect_gate.tenant()) AND seq > %s ORDER BY seq LIMIT %s;

-- name: by_time
SELECT seq, id, type, time, digest, hash, nonce, payload FROM reflect_gate.events
WHERE tenant = (SELECT reflect_gate.tenant()) AND (time, id) > (%s, %s) ORDER BY time, id LIMIT %s;

-- name: erase
UPDATE reflect_gate.events SET nonce = NULL, payload = NULL WHERE tenant = (SELECT reflect_gate.tenant()) AND id = %s;

-- name: redacted
SELECT count(*) FROM reflect_gate.events WHERE tenant = (SELECT reflect_gate.tenant()) AND payload IS NULL;

-- name: lock
SELECT chains.id::text, chains.edition, layout.number FROM reflect_gate.chains, reflect_gate.layout
WHERE chains.tenant = (SELECT reflect_gate.tenant()) FOR UPDATE OF chains;

-- name: begin_chain
INSERT INTO reflect_gate.chains (tenant) VALUES ((SELECT reflect_gate.tenant())) ON CONFLICT DO NOTHING;

-- name: chain
SELECT id::text, edition FROM reflect_gate.chains WHERE tenant = (SELECT reflect_gate.tenant());

-- name: notify
SELECT pg_notify(%s, '');

-- name: find
SELECT lesson_id, doc, words, scope, sieve FROM reflect_gate.search WHERE tenant = (SELECT reflect_gate.tenant()) AND lesson_id = ANY (%s::text[]);

-- name: count
SELECT count(*) FROM reflect_gate.search WHERE tenant = (SELECT reflect_gate.tenant());

-- name: taken
SELECT doc FROM reflect_gate.search WHERE tenant = (SELECT reflect_gate.tenant()) AND doc = ANY (%s::bigint[]);

-- name: add_text
INSERT INTO reflect_gate.search (tenant, doc, lesson_id, words, scope, sieve)
VALUES ((SELECT reflect_gate.tenant()), %s, %s, %s, %s, %s);

-- name: drop_text
DELETE FROM reflect_gate.search WHERE tenant = (SELECT reflect_gate.tenant()) AND doc = %s;

-- name: add_words
INSERT INTO reflect_gate.search_words (tenant, word, doc)
SELECT (SELECT reflect_gate.tenant()), word, %s FROM unnest(%s::text[]) AS held (word);

-- name: drop_words
DELETE FROM reflect_gate.search_words WHERE tenant = (SELECT reflect_gate.tenant()) AND word = ANY (%s::text[]) AND doc = %s;

-- name: holding
SELECT token, doc FROM unnest(%s::text[]) AS asked (token) CROSS JOIN LATERAL (
    SELECT doc FROM reflect_gate.search_words
    WHERE tenant = (SELECT reflect_gate.tenant()) AND word = asked.token ORDER BY doc DESC LIMIT %s
) AS held ORDER BY token, doc DESC;

-- name: common
SELECT token FROM unnest(%s::text[]) AS asked (token) WHERE EXISTS (
    SELECT FROM reflect_gate.search_words
    WHERE tenant = (SELECT reflect_gate.tenant()) AND word = asked.token LIMIT 1 OFFSET %s
);

-- name: names
SELECT doc, lesson_id FROM reflect_gate.search WHERE tenant = (SELECT reflect_gate.tenant()) AND doc = ANY (%s::bigint[]);

-- name: texts
SELECT doc, lesson_id, words, scope, sieve FROM reflect_gate.search
WHERE tenant = (SELECT reflect_gate.tenant()) AND doc > %s ORDER BY doc LIMIT %s;

-- name: held_words
SELECT word, doc FROM reflect_gate.search_words
WHERE tenant = (SELECT reflect_gate.tenant()) AND (word, doc) > (%s, %s) ORDER BY word, doc LIMIT %s;

-- name: empty_texts
DELETE FROM reflect_gate.search WHERE tenant = (SELECT reflect_gate.tenant());

-- name: empty_words
DELETE FROM reflect_gate.search_words WHERE tenant = (SELECT reflect_gate.tenant());

-- name: new_edition
UPDATE reflect_gate.chains SET edition = edition + 1 WHERE tenant = (SELECT reflect_gate.tenant());

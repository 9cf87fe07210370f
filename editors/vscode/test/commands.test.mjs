// The commands of code lenses, without the editor: `npm test`.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const { commandLine, curlLine, shellWord } = createRequire(import.meta.url)('../commands.js');

test('a route becomes a curl line', () => {
    const address = 'http://127.0.0.1:8080/';
    assert.equal(curlLine('GET /tasks', address), "curl 'http://127.0.0.1:8080/tasks'");
    assert.equal(curlLine('DELETE /tasks/:id', address), "curl -X DELETE 'http://127.0.0.1:8080/tasks/:id'");
    assert.equal(
        curlLine('POST /tasks (public)', address),
        "curl -X POST 'http://127.0.0.1:8080/tasks' -H 'Content-Type: application/json' -d '{}'",
    );
    assert.match(curlLine('MERGE /tasks', address), /^curl -X PATCH /);
});

test('a path is one word of a command line', () => {
    assert.equal(commandLine('runnel', 'test', '/a/b.st'), 'runnel test /a/b.st');
    assert.equal(shellWord("it's here.st", 'linux'), "'it'\\''s here.st'");
    assert.equal(shellWord('it is here.st', 'win32'), '"it is here.st"');
});

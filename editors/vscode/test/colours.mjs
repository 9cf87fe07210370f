// Compares the TextMate grammar with the lexer of the language: strings and comments must be the same. The file that is
// named holds [{ name, text, colours }]; `colours` has a letter for each UTF-16 unit: `t` text, `c` comment, `p` path of a
// property, `e` either, `.` else. NODE_PATH names the folder with vscode-textmate and vscode-oniguruma.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(new URL(`file://${process.env.NODE_PATH ?? import.meta.dirname}/`));
const textmate = require('vscode-textmate');
const oniguruma = require('vscode-oniguruma');

const grammarFile = new URL('../syntaxes/runnel.tmLanguage.json', import.meta.url);
await oniguruma.loadWASM(readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm')).buffer);
const registry = new textmate.Registry({
    onigLib: Promise.resolve({
        createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
        createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(readFileSync(grammarFile, 'utf8'), 'runnel.json'),
});
const grammar = await registry.loadGrammar('source.runnel');

/** What a token is by its scopes; the innermost that says something decides. */
function letter(scopes) {
    for (const scope of scopes.toReversed()) {
        if (scope.startsWith('comment')) return 'c';
        if (scope.startsWith('string.unquoted')) return '.';
        if (scope.startsWith('string')) return 't';
        if (scope.startsWith('meta.embedded')) return '.';
    }
    return '.';
}

function colours(text) {
    let stack = textmate.INITIAL;
    let found = '';
    for (const line of text.split('\n')) {
        const result = grammar.tokenizeLine(line, stack);
        stack = result.ruleStack;
        let colour = '';
        for (const token of result.tokens) {
            colour += letter(token.scopes).repeat(Math.max(0, Math.min(token.endIndex, line.length) - colour.length));
        }
        found += colour.padEnd(line.length, '.') + ' ';
    }
    return found;
}

const samples = JSON.parse(readFileSync(process.argv[2], 'utf8'));
let failed = 0;
for (const sample of samples) {
    const ours = colours(sample.text);
    for (let at = 0; at < sample.text.length; at++) {
        const lexer = sample.colours[at];
        const same = lexer === 'p' ? ours[at] !== 'c' : ours[at] === lexer;
        if (same || lexer === 'e' || /\s/.test(sample.text[at])) continue;
        const before = sample.text.slice(0, at);
        const start = before.lastIndexOf('\n') + 1;
        const line = sample.text.slice(start).split('\n')[0];
        console.log(`${sample.name}:${before.split('\n').length}: ${ours[at]} for ${lexer} at ${at - start}: ${line}`);
        failed++;
        break;
    }
}
console.log(`${samples.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

// Starts `runnel lsp` and runs the commands of its code lenses.

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { commandLine, curlLine } = require('./commands');

/** @type {LanguageClient | undefined} */
let client;

function setting(name) {
    return vscode.workspace.getConfiguration('runnel').get(name);
}

async function start() {
    const server = { command: setting('path'), args: ['lsp'] };
    client = new LanguageClient('runnel', 'Runnel', server, {
        documentSelector: [
            { scheme: 'file', language: 'runnel' },
            { scheme: 'untitled', language: 'runnel' },
        ],
    });
    try {
        await client.start();
    } catch (error) {
        client = undefined;
        const message = `Runnel: ${server.command} does not start (${error.message}). Install it, or set runnel.path.`;
        const choice = await vscode.window.showErrorMessage(message, 'Open Settings');
        if (choice) vscode.commands.executeCommand('workbench.action.openSettings', 'runnel.path');
    }
}

async function stop() {
    const running = client;
    client = undefined;
    await running?.stop();
}

/** A line in the terminal of the extension. */
function inTerminal(line) {
    const named = vscode.window.terminals.find((one) => one.name === 'Runnel' && one.exitStatus === undefined);
    const terminal = named ?? vscode.window.createTerminal('Runnel');
    terminal.show(true);
    terminal.sendText(line);
}

/** The path of the document in the editor, saved. */
async function savedFile() {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.languageId !== 'runnel') return undefined;
    await document.save();
    return document.isUntitled ? undefined : document.uri.fsPath;
}

async function copyRoute(route) {
    await vscode.env.clipboard.writeText(curlLine(route, setting('address')));
    vscode.window.setStatusBarMessage(`Runnel: copied a curl line for ${route}`, 3000);
}

async function runTests(path) {
    await savedFile();
    inTerminal(commandLine(setting('path'), 'test', path));
}

async function runFile() {
    const file = await savedFile();
    if (file) inTerminal(commandLine(setting('path'), file));
}

async function activate(context) {
    const commands = {
        'runnel.copy': copyRoute,
        'runnel.test': runTests,
        'runnel.runFile': runFile,
        'runnel.restart': () => stop().then(start),
    };
    for (const [name, run] of Object.entries(commands)) {
        context.subscriptions.push(vscode.commands.registerCommand(name, run));
    }
    await start();
}

module.exports = { activate, deactivate: stop };

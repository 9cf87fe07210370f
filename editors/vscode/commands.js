// What the commands of the extension compute, without the editor.

/** A curl line for a route such as `GET /tasks/:id`; the parameters of a path stay as they are written. */
function curlLine(route, address) {
    const [verb, path = '/'] = route.replace(/\s+\(.*\)$/, '').split(/\s+/, 2);
    const method = { GET: '', LIST: '', HEAD: '--head ', MERGE: '-X PATCH ' }[verb] ?? `-X ${verb} `;
    const body = ['POST', 'PUT', 'MERGE', 'PATCH'].includes(verb)
        ? " -H 'Content-Type: application/json' -d '{}'"
        : '';
    const url = address.replace(/\/+$/, '') + path;
    return `curl ${method}'${url.replaceAll("'", "'\\''")}'${body}`;
}

/** A word of a command line of the platform's shell. */
function shellWord(text, platform = process.platform) {
    if (/^[\w./:@%+,-]+$/.test(text)) return text;
    return platform === 'win32' ? `"${text.replaceAll('"', '""')}"` : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command line that gives `runnel` these arguments. */
function commandLine(runnel, ...words) {
    return [runnel, ...words].map((word) => shellWord(word)).join(' ');
}

module.exports = { commandLine, curlLine, shellWord };

// The other end of the client's tests: servers over HTTP/1.1 and HTTP/2, and a forward proxy.
// node peer.mjs FOLDER, where FOLDER has the certificate of the server and that of a client.
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import zlib from 'node:zlib';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const folder = process.argv[2];
const file = name => readFileSync(`${folder}/${name}`);
const seen = { sessions: 0, active: 0, most: 0, refused: 0, proxied: [], connects: [], events: [] };

async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

const packed = {
  gzip: zlib.gzipSync('a text that is packed, packed, packed'),
  br: zlib.brotliCompressSync('a text that is packed, packed, packed'),
};

async function answer(request, response) {
  const url = new URL(request.url, 'http://x');
  const end = (status, headers, body) => { response.writeHead(status, headers); response.end(body); };
  switch (url.pathname) {
    case '/echo': {
      const body = await bodyOf(request);
      const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name[0] != ':'));
      return end(200, { 'content-type': 'application/json' },
        JSON.stringify({ method: request.method, version: request.httpVersion, headers, body: body.toString('latin1') }));
    }
    case '/packed': {
      const coding = url.searchParams.get('coding');
      return end(200, { 'content-type': 'text/plain', 'content-encoding': coding, etag: '"packed"' }, packed[coding]);
    }
    case '/bomb': {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      const pack = zlib.createGzip();
      pack.pipe(response);
      const zeros = Buffer.alloc(1 << 20);
      response.on('close', () => pack.destroy());
      for (let count = 0; count < 400 && !pack.destroyed; count++) {
        if (!pack.write(zeros)) await new Promise(next => { pack.once('drain', next); pack.once('close', next); });
      }
      return pack.destroyed || pack.end();
    }
    case '/broken':
      return end(200, { 'content-encoding': 'gzip' }, packed.gzip.subarray(0, 20));
    case '/slow':
      seen.active++;
      seen.most = Math.max(seen.most, seen.active);
      return setTimeout(() => { seen.active--; end(200, {}, 'slow'); }, 50);
    case '/login':
      return end(200, { 'set-cookie': ['sid=1; Path=/; HttpOnly', 'theme=dark'] }, 'in');
    case '/large':
      return end(200, {}, Buffer.alloc(Number(url.searchParams.get('size')), 120));
    case '/dies':
      return request.socket.destroy();
    case '/seen':
      return end(200, { 'content-type': 'application/json' }, JSON.stringify(seen));
    case '/events': {
      const last = request.headers['last-event-id'];
      seen.events.push(last ?? null);
      if (last === '4') return end(204, {});
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const from = Number(last ?? 0);
      response.write(': hello\r\nretry: 10\r\n\r\n');
      response.write(`id: ${from + 1}\nevent: tick\ndata: one\n`);
      response.write('data: more\r\n\r\n');
      response.write(`data\rid: ${from + 2}\r\r`);
      response.write('data: cut off');
      return setTimeout(() => response.destroy(), 20);
    }
    case '/refuse':
      if (seen.refused++ === 0) return request.stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
      return end(200, {}, 'taken');
    case '/leave':
      end(200, {}, 'leaving');
      return request.stream.session.close();
    case '/me':
      return end(200, {}, request.socket.getPeerCertificate().subject?.CN ?? 'nobody');
    default:
      return end(404, {}, 'nothing');
  }
}

// WebSockets, by hand: what a right server sends, and what none should.
function upgrade(request, socket) {
  socket.on('error', () => {});
  const accept = createHash('sha1')
    .update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
  const open = (accept, more = '') => socket.write(`${head}Sec-WebSocket-Accept: ${accept}\r\n${more}\r\n`);
  switch (request.url) {
    case '/closes':
      open(accept);
      return socket.end(Buffer.from([0x81, 2, 0x68, 0x69, 0x88, 2, 4001 >> 8, 4001 & 255]));
    case '/vanishes':
      open(accept);
      return setTimeout(() => socket.destroy(), 20);
    case '/masks':
      open(accept);
      return socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
    case '/large':
      open(accept);
      return socket.write(Buffer.from([0x82, 127, 0, 0, 0, 0, 1, 0, 0, 1]));
    case '/unproved':
      return open('nothing');
    case '/extends':
      return open(accept, 'Sec-WebSocket-Extensions: permessage-deflate\r\n');
    default:
      return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  }
}

const tls = { cert: file('runnel/local-certificate.pem'), key: file('runnel/local-key.pem') };
const plain = http.createServer(answer);
plain.on('upgrade', upgrade);
const secure = http2.createSecureServer({ ...tls, allowHTTP1: true, settings: { maxConcurrentStreams: 5 } }, answer);
secure.on('session', () => seen.sessions++);
secure.on('sessionError', () => {});
const old = https.createServer({ ...tls, requestCert: true, rejectUnauthorized: true, ca: file('me.pem') }, answer);
const proxy = http.createServer((request, response) => {
  seen.proxied.push([request.url, request.headers['proxy-authorization'] ?? null]);
  const to = new URL(request.url);
  const onward = http.request({ host: to.hostname, port: to.port, path: to.pathname + to.search, method: request.method,
    headers: request.headers }, answered => {
    response.writeHead(answered.statusCode, answered.headers);
    answered.pipe(response);
  });
  request.pipe(onward);
});
proxy.on('connect', (request, socket) => {
  seen.connects.push(request.url);
  if (request.headers['proxy-authorization'] === undefined) return socket.end('HTTP/1.1 407 No\r\n\r\n');
  const [host, port] = request.url.split(':');
  const onward = net.connect(port, host, () => {
    socket.write('HTTP/1.1 200 Connected\r\n\r\n');
    onward.pipe(socket);
    socket.pipe(onward);
  });
  for (const end of [socket, onward]) end.on('error', () => { socket.destroy(); onward.destroy(); });
});

const ports = [];
for (const server of [plain, secure, old, proxy]) {
  await new Promise(next => server.listen(0, 'localhost', next));
  ports.push(server.address().port);
}
console.log(ports.join(' '));

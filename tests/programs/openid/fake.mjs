// A login provider that does what a test says: node fake.mjs. It prints its port.
//
// The code that a client redeems is base64url of a JSON object with what to answer: `claims`, `header`, `key`
// (rsa, other, ec, hs, public, none), `challenge` of PKCE, `status`, `answer`, `location`, `spoil`.
import { createServer } from 'node:http'
import { createHash, createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'

const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  other: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
}
let next
const counts = {}
const encode = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const jwk = (name) => ({ ...createPublicKey(pairs[name].privateKey).export({ format: 'jwk' }), kid: name, use: 'sig' })

function token ({ claims, header = {}, key = 'rsa', spoil }) {
  const algorithm = { rsa: 'RS256', other: 'RS256', next: 'RS256', ec: 'ES256', hs: 'HS256', public: 'HS256', none: 'none' }[key]
  const signed = encode({ alg: algorithm, kid: key === 'other' ? 'rsa' : key, ...header }) + '.' + encode(claims)
  let signature = ''
  if (key === 'hs') signature = createHmac('sha256', 'the secret of the client, long enough').update(signed).digest('base64url')
  else if (key === 'public') {
    const pem = createPublicKey(pairs.rsa.privateKey).export({ type: 'spki', format: 'pem' })
    signature = createHmac('sha256', pem).update(signed).digest('base64url')
  } else if (key !== 'none') {
    if (key === 'next') pairs.next ??= generateKeyPairSync('rsa', { modulusLength: 2048 })
    signature = sign('sha256', signed, { key: pairs[key].privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')
  }
  if (spoil === 'payload') return signed.split('.')[0] + '.' + encode({ ...claims, sub: 'root' }) + '.' + signature
  if (spoil === 'token') return 'not.a.token'
  return signed + '.' + signature
}

function redeem (request, form) {
  const asked = JSON.parse(Buffer.from(form.get('code'), 'base64url'))
  const basic = 'Basic ' + Buffer.from('shop:' + encodeURIComponent('the secret of the client, long enough')).toString('base64')
  const authorized = request.headers.authorization === basic || form.get('client_secret') === 'the secret of the client, long enough'
  if (!authorized) return [401, { error: 'invalid_client' }]
  if (form.get('grant_type') !== 'authorization_code') return [400, { error: 'unsupported_grant_type' }]
  const challenge = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url')
  if (asked.challenge !== undefined && asked.challenge !== challenge) return [400, { error: 'invalid_grant' }]
  if (asked.location) return [307, {}, { location: asked.location }]
  return [asked.status ?? 200, asked.answer ?? { id_token: token(asked), access_token: 'a', token_type: 'Bearer' }]
}

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://127.0.0.1')
  const base = `http://127.0.0.1:${server.address().port}`
  counts[url.pathname] = (counts[url.pathname] ?? 0) + 1
  const answer = (status, value, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(value))
  }
  let body = ''
  request.on('data', (piece) => { body += piece })
  request.on('end', () => {
    const [, kind, rest] = url.pathname.match(/^\/(\w+)(\/.*)$/) ?? []
    if (url.pathname === '/counts') return answer(200, counts)
    if (url.pathname === '/rotate') {
      next = pairs.next ??= generateKeyPairSync('rsa', { modulusLength: 2048 })
      return answer(200, {})
    }
    if (rest === '/.well-known/openid-configuration') {
      const issuer = kind === 'liar' ? base + '/honest' : `${base}/${kind}`
      return answer(kind === 'broken' ? 500 : 200, {
        issuer,
        authorization_endpoint: `${base}/${kind}/auth${kind === 'query' ? '?tenant=1' : ''}`,
        token_endpoint: kind === 'plain' ? 'http://login.example/token' : `${base}/${kind}/token`,
        jwks_uri: `${base}/${kind}/jwks`,
        ...(kind === 'post' ? { token_endpoint_auth_methods_supported: ['client_secret_post'] } : {}),
        ...(kind === 'issuing' ? { authorization_response_iss_parameter_supported: true } : {}),
      })
    }
    if (rest === '/jwks') {
      const names = ['rsa', 'ec', ...(next ? ['next'] : [])]
      return answer(200, { keys: [...names.map(jwk), { kty: 'new', kid: 'odd' }] })
    }
    if (rest === '/token' && request.method === 'POST') {
      try { return answer(...redeem(request, new URLSearchParams(body))) } catch { return answer(400, { error: 'invalid_grant' }) }
    }
    answer(404, {})
  })
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))

// A login provider of the package oidc-provider, where everybody is ann: node real.mjs MODULES PORT REDIRECT.
const [modules, port, redirect] = process.argv.slice(2)
const library = await import(modules + '/oidc-provider/lib/index.js')
const Provider = library.Provider ?? library.default

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'shop',
    client_secret: 'the secret of the client, long enough',
    redirect_uris: [redirect],
    response_types: ['code'],
    grant_types: ['authorization_code'],
  }],
  pkce: { required: () => true },
  cookies: { keys: ['a key of the test'] },
  claims: { openid: ['sub'], email: ['email'] },
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: false } },
  interactions: { url: (context, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (context, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@shop.example` }) }),
  async loadExistingGrant (context) {
    const { client, session, provider } = context.oidc
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
    grant.addOIDCScope('openid email')
    await grant.save()
    return grant
  },
})
provider.use(async (context, next) => {
  if (!context.path.startsWith('/interaction/')) return next()
  context.respond = false
  await provider.interactionFinished(context.req, context.res, { login: { accountId: 'ann' } })
})
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'))

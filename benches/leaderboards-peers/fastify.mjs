// The rank and the card of a user in Fastify, over better-sqlite3: PORT DB UPSTREAM from the environment.
import Fastify from 'fastify';
import Database from 'better-sqlite3';

const { PORT, DB, UPSTREAM } = process.env;
const database = new Database(DB, { readonly: true });
const board = database.prepare('select id from leaderboards where id = ?');
const score = database.prepare('select value from scores where leaderboard_id = ? and user_id = ?');
const better = database.prepare('select count(*) as n from scores where leaderboard_id = ? and value > ?');

const integer = { type: 'integer' };
const params = { type: 'object', properties: { board: integer, user: integer } };
const standing = { type: 'object', properties: { score: integer, rank: integer } };
const profile = {
  type: ['object', 'null'],
  properties: { id: integer, name: { type: 'string' }, about: { type: 'string' } },
};
const card = { type: 'object', properties: { ...standing.properties, profile, stale: { type: 'boolean' }, user_id: integer } };

function standingOf({ board: at, user }, reply) {
  const found = board.get(at) && score.get(at, user);
  if (!found) return reply.code(404).send({ title: 'Not Found', status: 404 });
  return { score: found.value, rank: better.get(at, found.value).n + 1 };
}

async function profileOf(user) {
  try {
    const response = await fetch(`${UPSTREAM}/profiles/${user}`, { signal: AbortSignal.timeout(800) });
    if (response.ok) return { profile: await response.json(), stale: false };
  } catch {
    // Slow or down.
  }
  return { profile: null, stale: true };
}

const app = Fastify();
app.get('/leaderboards/:board/users/:user', { schema: { params, response: { 200: standing } } }, (request, reply) =>
  standingOf(request.params, reply));
app.get('/leaderboards/:board/users/:user/card', { schema: { params, response: { 200: card } } }, async (request, reply) => {
  const found = standingOf(request.params, reply);
  if (found === reply) return reply;
  return { ...found, ...(await profileOf(request.params.user)), user_id: request.params.user };
});
await app.listen({ port: Number(PORT), host: '127.0.0.1', backlog: 8192 });

"""The rank and the card of a user in FastAPI, over sqlite3 and aiohttp: DB UPSTREAM from the environment."""
import asyncio, os, sqlite3
from contextlib import asynccontextmanager

import aiohttp
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

database = sqlite3.connect(f"file:{os.environ['DB']}?mode=ro", uri=True, check_same_thread=False)
UPSTREAM = os.environ["UPSTREAM"]


class Standing(BaseModel):
    score: int
    rank: int


class Profile(BaseModel):
    id: int
    name: str
    about: str


class Card(Standing):
    profile: Profile | None
    stale: bool
    user_id: int


@asynccontextmanager
async def lifespan(app):
    limits = aiohttp.TCPConnector(limit=256)
    async with aiohttp.ClientSession(connector=limits, timeout=aiohttp.ClientTimeout(total=0.8)) as client:
        app.state.client = client
        yield


app = FastAPI(lifespan=lifespan)


def one(statement, *values):
    return database.execute(statement, values).fetchone()


def standing_of(board, user):
    if not one("select id from leaderboards where id = ?", board):
        raise HTTPException(404)
    found = one("select value from scores where leaderboard_id = ? and user_id = ?", board, user)
    if not found:
        raise HTTPException(404)
    better = one("select count(*) from scores where leaderboard_id = ? and value > ?", board, found[0])
    return {"score": found[0], "rank": better[0] + 1}


async def profile_of(user):
    try:
        async with app.state.client.get(f"{UPSTREAM}/profiles/{user}") as response:
            response.raise_for_status()
            return {"profile": await response.json(), "stale": False}
    except (aiohttp.ClientError, asyncio.TimeoutError):
        return {"profile": None, "stale": True}


@app.get("/leaderboards/{board}/users/{user}")
async def rank(board: int, user: int) -> Standing:
    return standing_of(board, user)


@app.get("/leaderboards/{board}/users/{user}/card")
async def card(board: int, user: int) -> Card:
    return standing_of(board, user) | await profile_of(user) | {"user_id": user}

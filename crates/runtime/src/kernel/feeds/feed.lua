-- Change feeds: the changes of tables with cursors, `feed ← #ChangeFeed{ database: database, tables: [ 'orders' ] }`.
--
-- While anyone waits, one fiber of the worker reads what is new, once for all readers, and keeps the last changes. A
-- reader that is further behind reads the log itself.
local K = ...
local type, rawset, setmetatable, floor = type, rawset, setmetatable, math.floor
local native, throw, take, own = K.native, K.throw, K.optionKinds, K.feedOwn
local try = K.try

-- Seconds for which changes are kept, and how many.
local KEEP = 604800
local MOST_KEPT = 1000000
-- Tables of a feed.
local MOST_TABLES = 100
-- Changes that a worker keeps for its readers.
local MOST_RECENT = 1024
-- Seconds between looks at the log of SQLite without a notification, and between deletions of old changes.
local POLL = 5
local TRIM = 60
-- A NOTIFY in each transaction would make PostgreSQL commit them one after the other.
local POSTGRES_POLL = 0.2
-- Seconds after which a reader asks again, and after which a worker stops to look without one.
local PATIENCE = 30
local ABANDONED = 90

--- The changes of tables of SQLite or PostgreSQL, with cursors from which a reader continues after a restart:
--- `#ChangeFeed{ database: database, tables: [ 'orders' ] }`.
local Feed = K.newClass("ChangeFeed", K.classes.Object)
Feed._plainName = true -- a program may have a class of this name
--- ChangeFeed -<any> database
--- The database of the tables.
--- > { :feed | feed database }

--- ChangeFeed -<any> tables
--- The tables of the feed, by name or as tables of classes.
--- > { :feed | feed tables count }

--- ChangeFeed -<Duration> keep
--- How long a change is kept, 7 days by default; a number counts seconds.
--- > { :feed | feed keep }

--- ChangeFeed -<Number> maxChanges
--- How many changes the database keeps, 1,000,000 by default.
--- > { :feed | feed maxChanges }
for _, name in ipairs { "database", "tables", "keep", "maxChanges" } do K.ivar(Feed, name) end
rawset(Feed._methods, "i_keep", K.duration(KEEP))
rawset(Feed._methods, "i_maxChanges", MOST_KEPT)
rawset(Feed._methods, "_keepTime", KEEP)
for _, key in ipairs {
  "_names", "_tables", "_wake", "_recent", "_base", "_last", "_epoch", "_isTailing", "_asked", "_feed", "_position", "_waiting",
  "_isStopped", "_cursor", "_row", "_classes",
} do K.nilKeys[key] = true end

--- A change of a feed. Its path is that of the row in the database: `orders/7`.
local FeedChange = K.newClass("FeedChange", K.classes.Change)
--- The changes of a feed from a cursor on.
local Reader = K.newClass("FeedChanges", K.classes.Changes)

-- The name of a table that a program gives, by itself or as a table of a class.
local function tableName(value)
  if type(value) == "table" and value._isTable and value._tableName then return value._tableName end
  local name = K.expectText(value, "tables:")
  if name == "" or #name > 200 or string.find(name, "%z") then
    throw("invalid", "'" .. string.sub(name, 1, 200) .. "' is no name of a table")
  end
  return name
end

local function openFeed(self)
  if self._wake then return self end
  for _, name in ipairs { "database", "tables" } do
    if self["i_" .. name] == nil then
      throw("nilValue", "this ChangeFeed has no `" .. name .. "`",
        { i_hint = "write `#ChangeFeed{ database: ref:sqlite:shop.db, tables: [ 'orders' ] }`" })
    end
  end
  own.open(self)
  self._wake = "feed " .. K.randomToken(8)
  local function trim()
    local ok, fault = try(own.trim, self)
    if ok then return end
    if not K.catchable(fault) then error(fault, 0) end
    K.reportError("error: old changes could not be deleted: ", fault)
  end
  native.fork(function()
    return K.alone(function()
      while true do
        trim()
        native.sleep(math.max(1, math.min(TRIM, self._keepTime / 2)))
      end
    end)
  end, nil, false, true)
  return self
end

-- Cursors -------------------------------------------------------------------------------------------

local function cursorText(epoch, position) return string.format("%s-%d", epoch, position) end

local function parsed(cursor)
  local text = K.expectText(cursor, "changesAfter:")
  local epoch, position = string.match(text, "^([%w_-]+)%-(%d+)$")
  if not epoch or #text > 64 then
    throw("invalid", "'" .. string.sub(text, 1, 64) .. "' is no cursor of a change feed",
      { i_hint = "a cursor comes from `feed cursor` or `change cursor`" })
  end
  return epoch, tonumber(position)
end

-- The last changes ------------------------------------------------------------------------------------

-- Reads what is new into the list of recent changes.
local function readNew(feed)
  repeat
    local list, last, epoch = own.read(feed, feed._epoch, feed._last)
    feed._epoch, feed._last = epoch, last
    local recent = feed._recent
    for i = 1, #list do recent[#recent + 1] = list[i] end
    if #recent > 2 * MOST_RECENT then
      local kept, from = {}, #recent - MOST_RECENT
      for i = 1, MOST_RECENT do kept[i] = recent[from + i] end
      feed._recent, feed._base = kept, recent[from].position
    end
    if #list > 0 then native.wake(feed._wake) end
  until #list == 0
end

local function follow(feed)
  local place, watch = feed._place, nil
  local woken = feed._wake .. " log"
  if feed._dialect == "sqlite" then
    watch = native.watch(place[1], place[2] == "" and "runnel_changes" or place[2] .. "/runnel_changes", nil, place[3])
    -- Changes that arrive together are read together.
    native.fork(function()
      while native.nextChange(watch) ~= nil do native.wake(woken) end
    end, nil, false, true)
  end
  local ok, fault = try(function()
    while native.now() - feed._asked < ABANDONED do
      local seen = native.wakes(woken)
      readNew(feed)
      native.awaitWake(woken, seen, watch and POLL or POSTGRES_POLL)
    end
  end)
  if watch then native.unwatch(watch) end
  if not ok then error(fault, 0) end
end

-- The fiber that reads new changes, while readers wait for them.
local function tail(feed)
  if feed._isTailing then return end
  feed._isTailing = true
  native.fork(function()
    return K.alone(function()
      local pause = 1
      repeat
        local ok, fault = try(function()
          feed._last, feed._epoch = own.state(feed)
          feed._recent, feed._base = {}, feed._last
          native.wake(feed._wake)
          follow(feed)
        end)
        feed._base = nil
        if not ok then
          if not K.catchable(fault) then error(fault, 0) end
          -- Where the log was made anew, readers say so themselves.
          if K.str(fault.i_kind) ~= "gone" then K.reportError("error: the changes of a feed could not be read: ", fault) end
          native.wake(feed._wake)
          native.sleep(pause)
          pause = math.min(pause * 2, 30)
        end
      until ok or native.now() - feed._asked >= ABANDONED
      feed._isTailing = nil
    end)
  end, nil, false, true)
end

-- The changes after a position, and the position behind them.
local function changesBehind(feed, epoch, position)
  if feed._base and feed._epoch == epoch and position >= feed._base and position <= feed._last then
    local recent, low = feed._recent, 1
    local high = #recent + 1
    while low < high do
      local middle = floor((low + high) / 2)
      if recent[middle].position > position then high = middle else low = middle + 1 end
    end
    local list = {}
    for i = low, #recent do list[#list + 1] = recent[i] end
    return list, feed._last
  end
  return own.read(feed, epoch, position)
end

-- Waits for changes after a position; an empty list after some seconds without any.
function own.await(feed, epoch, position)
  local seen = native.wakes(feed._wake)
  feed._asked = native.now()
  tail(feed)
  local list, last = changesBehind(feed, epoch, position)
  if #list > 0 then return list, last end
  native.awaitWake(feed._wake, seen, feed._base and PATIENCE or 1)
  return list, last
end

-- Reading -----------------------------------------------------------------------------------------

-- The path of a changed row below its table. A key that another program wrote may be no list: then it is nil.
local function keyPath(key)
  local ok, parts = try(K.parseJSON, key)
  if not ok or type(parts) ~= "table" or not parts._isArray then return nil end
  local path = ""
  for i = 1, #parts do path = path .. "/" .. K.encodeSegment(K.str(parts[i])) end
  return path
end

function own.changeOf(feed, epoch, row)
  local path, kind = K.encodeSegment(row.name), row.kind
  if type(row.key) == "string" then
    local below = keyPath(row.key)
    -- One unreadable row must not hold its followers up for ever: they look at the table anew.
    if below == nil then
      kind = "lost"
      K.reportError(string.format("error: a change of %s is unreadable and is told as lost: ", row.name),
        K.newError("invalid", "its key is no JSON array: " .. string.sub(row.key, 1, 80)))
    end
    path = path .. (below or "")
  end
  return setmetatable({ i_kind = kind, i_path = path, _cursor = cursorText(epoch, row.position), _of = feed, _row = row },
    FeedChange._methods)
end

local function nextOf(self)
  while self._waiting == nil or self._waiting.at > #self._waiting do
    if self._isStopped then return nil end
    local list, last = own.await(self._feed, self._epoch, self._position)
    list.at, self._waiting, self._position = 1, list, last
  end
  local list = self._waiting
  local row = list[list.at]
  list.at = list.at + 1
  return own.changeOf(self._feed, self._epoch, row)
end

local function reader(feed, epoch, position)
  local source = Reader:new()
  source._feed, source._epoch, source._position, source._watched = feed, epoch, position, feed
  return source
end

local function changesAfter(feed, cursor)
  openFeed(feed)
  local epoch, position = parsed(cursor)
  local source = reader(feed, epoch, position)
  -- A cursor that is too old is an error here, before a response begins.
  local list, last = changesBehind(feed, epoch, position)
  list.at, source._waiting, source._position = 1, list, last
  return source
end

local function changes(feed)
  local last, epoch = own.state(openFeed(feed))
  return reader(feed, epoch, last)
end

K.methods(Reader, {
  --- -<FeedChange?> next
  --- -<FeedChange?> nextObject
  --- Waits for the next change; nil after `stop`. A cursor that became too old meanwhile is an error of kind `gone`.
  --- > { :feed :cursor | (feed changesAfter: cursor) next path }
  ["next"] = nextOf,
  ["nextObject"] = nextOf,
  --- -<self> stop
  --- Ends the source: `next` and `do:` end after the changes that are read already.
  --- > { :feed | feed changes stop }
  ["stop"] = function(self)
    self._isStopped = true
    native.wake(self._feed._wake)
    return self
  end,
})

K.methods(FeedChange, {
  --- -<Reference> reference
  --- The reference of the row that changed; of a `lost` that of its table.
  --- > { :change | change reference delete }
  ["reference"] = function(self)
    local feed = self._of
    local path, database = feed._place[2], feed.i_database
    local reference = K.pathReference(path == "" and self.i_path or path .. "/" .. self.i_path, feed._place[3])
    reference._store = database._isReference and rawget(database, "_store") or database._isStore and database or nil
    return reference
  end,
  --- -<any> value
  --- The row as it is now, which may be newer than the change: an object where the feed has the table of a class. Nil
  --- for a row that is deleted, by this change or a later one.
  --- > { :change | change value }
  ["value"] = function(self)
    if self.i_kind == "deleted" then return nil end
    local row, class = self:reference():value(), self._of._classes[self._row.name]
    if row == nil or class == nil or self.i_kind == "lost" then return row end
    return K.instantiate(K.array { row }, class._name)[1]
  end,
  --- -<String> cursor
  --- The cursor after this change, for `changesAfter:`.
  --- > { :feed :change | feed changesAfter: change cursor }
  ["cursor"] = function(self) return self._cursor end,
})

K.methods(Feed, {
  --- -<nothing> setDatabase:<any>database
  --- Sets the database: a reference such as `ref:sqlite:shop.db`, or a store.
  --- > { #ChangeFeed{ database: ref:sqlite:shop.db, tables: [ 'orders' ] } }
  ["setDatabase:"] = function(self, database)
    local isDatabase = type(database) == "table" and not K.isClass(database)
      and (database._isReference or database._isStore and rawget(database, "_native"))
    if not isDatabase then
      throw("typeError", "`database` of a ChangeFeed must be a database, not " .. K.nameOf(database),
        { i_hint = "write `database: ref:sqlite:shop.db`" })
    end
    self.i_database = database
  end,
  --- -<nothing> setTables:<Array>tables
  --- Sets 1 to 100 tables, by name or as tables of classes, none of them twice.
  --- > #ChangeFeed{ tables: [ 'a', 'a' ] } ⇒ error: `tables` of a ChangeFeed names a twice
  ["setTables:"] = function(self, tables)
    local names, known, classes = {}, {}, {}
    for i, value in ipairs(K.elementsOf(tables, "tables:")) do
      local name = tableName(value)
      if known[name] then throw("invalid", "`tables` of a ChangeFeed names " .. name .. " twice") end
      names[i], known[name] = name, true
      classes[name] = type(value) == "table" and value._isTable and value.i_class or nil
    end
    if #names == 0 or #names > MOST_TABLES then
      throw("invalid", string.format("`tables` of a ChangeFeed takes 1 to %d tables, not %d", MOST_TABLES, #names))
    end
    self.i_tables, self._names, self._classes = tables, names, classes
    self._tables = K.json(K.array(names, #names))
  end,
  --- -<nothing> setKeep:<Duration>time
  --- Sets how long a change is kept, at least 1 second.
  --- > #ChangeFeed{ keep: 0 } ⇒ error: `keep` of a ChangeFeed must be at least 1 second
  ["setKeep:"] = function(self, value)
    local seconds = take.seconds(value, "keep", self)
    if seconds < 1 then throw("invalid", "`keep` of a ChangeFeed must be at least 1 second") end
    self.i_keep, self._keepTime = value, math.ceil(seconds)
  end,
  --- -<nothing> setMaxChanges:<Number>count
  --- Sets how many changes the database keeps, counted over all of its feeds; at least 1.
  --- > #ChangeFeed{ maxChanges: 0 } ⇒ error: `maxChanges` of a ChangeFeed must be at least 1
  ["setMaxChanges:"] = function(self, value)
    self.i_maxChanges = take.count(value, "maxChanges", self)
    if value < 1 then throw("invalid", "`maxChanges` of a ChangeFeed must be at least 1") end
  end,
  ["connectComponents"] = openFeed,
  --- -<String> cursor
  --- The cursor after all changes that are committed now. Read it before the tables: later changes are after it.
  --- > { :feed | feed changesAfter: feed cursor }
  ["cursor"] = function(self)
    local last, epoch = own.state(openFeed(self))
    return cursorText(epoch, last)
  end,
  --- -<FeedChanges> changes
  --- The changes from now on.
  --- > { :feed | feed changes do: { :change | stdout println: change path } }
  ["changes"] = changes,
  --- -<FeedChanges> changesAfter:<String>cursor
  --- The changes after a cursor. A cursor before the changes that are kept is an error of kind `gone` (410), another
  --- text one of kind `invalid`.
  --- > { :feed :cursor | (feed changesAfter: cursor) do: { :change | stdout println: change path } }
  ["changesAfter:"] = changesAfter,
  --- -<WrittenContent> asEvents
  --- The changes as server-sent events, for a `get` handler to answer: after the `Last-Event-ID` of the client, else
  --- after the cursor in the query parameter `after`, else from now on.
  --- > { :feed | feed asEvents }
  ["asEvents"] = function(self)
    local cursor = native.exchange("header", "last-event-id") or native.exchange("query", "after")
    local source = cursor and changesAfter(self, cursor) or changes(self)
    -- An event of an id alone: a client that breaks off before the first change has a cursor, too.
    local start = K.classes.Event:new()
    start.i_id = cursor or cursorText(source._epoch, source._position)
    return K.eventsAfter(start, source)
  end,
  --- -<self> remove
  --- Deletes the triggers and the kept changes of the feed's tables.
  --- > { :feed | feed remove }
  ["remove"] = function(self)
    own.remove(openFeed(self))
    return self
  end,
  --- -<self> reset
  --- Makes all cursors of the database invalid (error `gone`), such as after the restore of a backup.
  --- > { :feed | feed reset }
  ["reset"] = function(self)
    own.run(openFeed(self), "renew", K.randomToken(8))
    return self
  end,
  --- As in Object.
  ["description"] = function(self) return "ChangeFeed of " .. table.concat(self._names or {}, ", ") end,
  --- As in Object.
  ["stringValue"] = function(self) return self:description() end,
})

-- Followers: fibers that run a block for each change of a feed, once over all processes. The cursor of a
-- follower is a row of the database, and moves in the transaction in which the block runs. A change that fails at each
-- attempt is set aside, a row of `runnel_change_failures`, so that it does not hold up those behind it for ever.
local K = ...
local native, own, try, take = K.native, K.feedOwn, K.try, K.optionKinds

-- The longest name of a follower, and how many a program has.
local LONGEST_NAME, MOST_FOLLOWERS = 100, 1000
-- The seconds that a transaction of several changes should take.
local BATCH_TIME = 0.05
-- Attempts before a change is set aside, unless an option says otherwise, and the most; changes set aside that are kept.
local ATTEMPTS = 20
local MOST_ATTEMPTS = 1000000
local MOST_SET_ASIDE = 1000
-- The longest pause before a block that failed runs again, in seconds.
local LONGEST_PAUSE = 30

--- A fiber that runs a block for each change of a feed, exactly once over all processes: the answer of `follow:do:`.
local Follower = K.newClass("FeedFollower", K.classes.Object)
for _, key in ipairs { "_block", "_alone", "_tried", "_setsAside", "_failedAt" } do K.nilKeys[key] = true end

local followers = 0

function K.hasFollowers() return followers > 0 end

-- Moves the cursor; false where another process has moved it.
local function move(follower, epoch, from, newEpoch, to)
  return own.run(follower._feed, "move", follower.i_name, epoch, from, newEpoch, to) == 1
end

local function isSame(row, other) return other and row.position == other.position and row.name == other.name end

-- Runs the block for a change, unless its attempts are used up.
local function performOne(follower, epoch, row)
  follower._tried = { epoch = epoch, row = row }
  if isSame(row, follower._setsAside) then
    own.run(follower._feed, "set_aside", follower.i_name, epoch, row.position, row.name)
    own.run(follower._feed, "sweep", follower.i_name, MOST_SET_ASIDE)
    return
  end
  local ok, raised = try(follower._block, own.changeOf(follower._feed, epoch, row))
  -- A `^` in the block is its end.
  if not ok and not K.isReturn(raised) then error(raised, 0) end
end

-- Runs the block for changes and moves the cursor, in one transaction.
local function perform(follower, epoch, position, list, newEpoch, behind)
  local feed, to = follower._feed, behind
  follower._tried = nil
  K.transaction(feed.i_database, function(tx)
    local began = native.now()
    to = behind
    -- Takes the row of the cursor, so that no other process runs the block for the same changes.
    if not move(follower, epoch, position, epoch, position) then return tx:rollback() end
    for i = 1, #list do
      performOne(follower, newEpoch, list[i])
      if i < #list and (follower._alone or native.now() - began > BATCH_TIME) then
        to = list[i].position
        break
      end
    end
    -- A commit that fails is of no single change.
    if not follower._alone and #list > 1 then follower._tried = nil end
    if follower._failedAt then own.run(feed, "passed", follower.i_name, to) end
    if not move(follower, epoch, position, newEpoch, to) then return tx:rollback() end
  end)
  follower._alone = nil
  if follower._failedAt and to >= follower._failedAt then follower._failedAt, follower._setsAside = nil, nil end
end

-- Counts an attempt of a change in the database, so that other processes go on counting, and says what is next. Where
-- the database takes no count, the change is not at fault.
local function failed(follower, fault, pause)
  local feed, tried, isLast = follower._feed, follower._tried, false
  local after = string.format("and runs again in %d s", pause)
  follower._tried, follower._alone = nil, true
  if tried then
    local epoch, row = tried.epoch, tried.row
    follower._failedAt = row.position
    local ok, rows = try(function()
      local text = K.str(fault.i_kind) .. ": " .. K.str(fault.i_message)
      own.run(feed, "fail", follower.i_name, epoch, row.position, row.name, row.key, text)
      return own.run(feed, "attempts", follower.i_name, epoch, row.position, row.name)
    end)
    if not ok and not K.catchable(rows) then error(rows, 0) end
    isLast = ok and rows[1] ~= nil and rows[1]:at_("attempts") >= follower._attempts
    if isLast then
      follower._setsAside = row
      native.countSetAside("follower", follower.i_name)
      after = "and sets aside " .. own.changeOf(feed, epoch, row):description()
    end
  end
  K.reportError(string.format("error: the follower %s failed %s: ", follower.i_name, after), fault)
  return isLast
end

-- One round: waits for changes and runs the block for them.
local function work(follower)
  local feed = follower._feed
  local row = own.run(feed, "follower", follower.i_name)[1]
  if row == nil then
    own.run(feed, "follow", follower.i_name)
    return
  end
  local epoch, position = row:at_("epoch"), row:at_("position")
  local ok, list, behind = try(function()
    local list, behind = own.await(feed, epoch, position)
    return { list, behind }
  end)
  if ok then
    list, behind = list[1], list[2]
    if #list > 0 then perform(follower, epoch, position, list, epoch, behind) end
  elseif K.str(list.i_kind) == "gone" then
    -- Changes that the log has deleted are a `lost`, one for each table.
    local last, present = own.state(feed)
    local lost = {}
    for i, name in ipairs(feed._names) do lost[i] = { position = last, name = name, kind = "lost" } end
    -- All of them at once, also after a failure.
    local alone = follower._alone
    follower._alone = nil
    perform(follower, epoch, position, lost, present, last)
    follower._alone = alone
  else
    error(list, 0)
  end
end

local function loop(follower)
  local pause = 1
  while not follower._isStopped do
    local ok, fault = try(work, follower)
    if ok then
      pause = 1
    else
      if not K.catchable(fault) then error(fault, 0) end
      if failed(follower, fault, pause) then
        pause = 1
      else
        native.sleep(pause)
        pause = math.min(pause * 2, LONGEST_PAUSE)
      end
    end
  end
end

--- -<String> name
--- The name of the follower, under which the database keeps its cursor.
--- > { :feed | (feed follow: 'mails' do: { :change | nil }) name }
K.ivar(Follower, "name")
K.methods(Follower, {
  --- -<self> stop
  --- Ends the follower in this process. Its cursor stays: the next follower of that name continues there.
  --- > { :feed | (feed follow: 'mails' do: { :change | nil }) stop }
  ["stop"] = function(self)
    if self._isStopped then return self end
    self._isStopped, followers = true, followers - 1
    native.wake(self._feed._wake)
    return self
  end,
  --- As in Object.
  ["description"] = function(self) return "follower " .. self.i_name end,
  --- As in Object.
  ["stringValue"] = function(self) return self:description() end,
})

local OPTIONS = {
  attempts = function(value, name, self)
    local count = take.count(value, name, self)
    if count < 1 or count > MOST_ATTEMPTS then
      K.throw("invalid", string.format("`%s` of a follower must lie from 1 to %d", name, MOST_ATTEMPTS))
    end
    return count
  end,
}

local function follow(self, name, block, options)
  name = K.expectText(name, "follow:do:")
  K.expectBlock(block, "follow:do:")
  if name == "" or #name > LONGEST_NAME then
    K.throw("invalid", string.format("the name of a follower has 1 to %d bytes", LONGEST_NAME))
  end
  if followers >= MOST_FOLLOWERS then
    K.throw("tooLarge", "a program has at most " .. MOST_FOLLOWERS .. " followers of change feeds")
  end
  local follower = Follower:new()
  follower._attempts = K.readOptions(options, "a follower", follower, OPTIONS).attempts or ATTEMPTS
  self:connectComponents()
  own.state(self)
  own.run(self, "follow", name)
  follower.i_name, follower._block, follower._feed = name, block, self
  -- What an earlier process has counted.
  follower._failedAt = 0
  followers = followers + 1
  K.detach(function() loop(follower) end)
  return follower
end

K.methods(K.classes.ChangeFeed, {
  --- -<FeedFollower> follow:<String>name do:<Block(change)>block
  --- Runs the block for each change after the first start of that name, in a transaction that also moves the cursor.
  --- Processes share the work of a name. A block that fails runs again after 1 to 30 seconds, and a change is set aside
  --- after 20 attempts.
  --- > { :feed | feed follow: 'mails' do: { :change | stdout println: change path } }
  ["follow:do:"] = function(self, name, block) return follow(self, name, block) end,
  --- -<FeedFollower> follow:<String>name do:<Block(change)>block with:<Dictionary?>options
  --- The same as `follow:do:` with the option `attempts` (1 to 1,000,000).
  --- > { :feed | feed follow: 'mails' do: { :change | nil } with: #{ attempts: 3 } }
  ["follow:do:with:"] = follow,
})

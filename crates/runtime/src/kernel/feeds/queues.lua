-- Queues and streams of Redis and NATS: `ref:redis:queue takeFirst`, and followers that share the messages of a
-- stream, `ref:redis:orders follow: 'billing' do: { :message | … }`. Each message is done at least once: it is
-- acknowledged when the block has ended, and belongs to its follower until then, as long as the lease is renewed.
local K = ...
local native, throw, take, try = K.native, K.throw, K.optionKinds, K.try

-- Followers of streams in a program.
local MOST_FOLLOWERS = 1000
-- Attempts of a message before it becomes a dead letter, messages at once, and seconds of a lease, unless options say
-- otherwise.
local ATTEMPTS = 20
local CONCURRENCY = 1
local LEASE = 30
-- The longest pause before a message that failed is delivered again, in seconds; it is not longer than the lease.
local LONGEST_PAUSE = 30
-- Seconds that the end of the program waits for running blocks, unless a server has a `stopTimeout`.
local STOP_TIME = 10

--- Runs a block for each message of a stream of Redis or NATS: the answer of `follow:do:` of a reference.
local Follower = K.newClass("StreamFollower", K.classes.Object)
for _, key in ipairs { "_block", "_isStopped", "_member", "_running", "_attempts", "_concurrency", "_wake", "_of", "_lease" } do
  K.nilKeys[key] = true
end
--- A message of a stream, as the block of a follower gets it.
local Message = K.newClass("StreamMessage", K.classes.Object)
--- StreamMessage -<String> id
--- The id of the message in its stream.
--- > { :message | message id }

--- StreamMessage -<any> value
--- The content of the message.
--- > { :message | message value }

--- StreamMessage -<Number> attempt
--- How often the message was delivered to the followers of this name, from 1.
--- > { :message | message attempt > 1 }
for _, name in ipairs { "id", "value", "attempt" } do K.ivar(Message, name) end

local followers, isStopping = {}, false

function K.hasStreamFollowers() return #followers > 0 end

local function placeOf(reference)
  local path, query = K.splitPath(reference._path)
  return K.nativeStore(reference:store()), path, query, reference._scheme
end

-- One message ---------------------------------------------------------------------------------------

local function failed(follower, message, fault)
  local attempt, most = message.i_attempt, follower._attempts
  local pause = math.min(2 ^ (attempt - 1), LONGEST_PAUSE, follower._lease)
  local isDead = attempt >= most
  local after = isDead and "and is a dead letter" or string.format("and runs again in %d s", pause)
  K.reportError(string.format("error: %s failed at attempt %d of %d of %s %s: ", message:description(), attempt, most,
    follower.i_name, after), fault)
  if isDead then
    native.groupBury(follower._member, message.i_id, K.str(fault.i_kind) .. ": " .. K.str(fault.i_message))
  else
    native.groupGiveBack(follower._member, message.i_id, pause)
  end
end

local function perform(follower, message)
  if message.i_attempt > follower._attempts then
    message.i_attempt = message.i_attempt - 1
    return failed(follower, message, K.newError("failed", "the process ended during each attempt"))
  end
  local ok, raised = try(follower._block, message)
  -- A `^` in the block is its end.
  if ok or K.isReturn(raised) then return native.groupAcknowledge(follower._member, message.i_id) end
  if not K.catchable(raised) then error(raised, 0) end
  failed(follower, message, raised)
end

local function deliver(follower, message)
  follower._running = follower._running + 1
  K.detach(function()
    local ok, fault = try(perform, follower, message)
    follower._running = follower._running - 1
    native.wake(follower._wake)
    if ok then return end
    if not K.catchable(fault) then error(fault, 0) end
    -- The server delivers it again.
    K.reportError(string.format("error: what became of %s could not be said: ", message:description()), fault)
  end)
end

-- All messages --------------------------------------------------------------------------------------

local function receive(follower)
  local free = follower._concurrency - follower._running
  local told = native.groupNext(follower._member, free)
  if told[1] > 0 then
    local lost = K.newError("gone", string.format("%d were removed before they were done, or all of the stream", told[1]))
    K.reportError(string.format("error: messages of %s are lost for %s: ", follower._of:stringValue(), follower.i_name), lost)
  end
  for i = 2, #told do
    local row = told[i]
    if follower._isStopped or isStopping then
      native.groupGiveBack(follower._member, row[1], 0)
    else
      local message = Message:new()
      message.i_id, message.i_value, message.i_attempt, message._of = row[1], row[2], row[3], follower._of
      deliver(follower, message)
    end
  end
end

local function loop(follower)
  local pause = 1
  while not follower._isStopped and not isStopping do
    local seen = native.wakes(follower._wake)
    if follower._running >= follower._concurrency then
      native.awaitWake(follower._wake, seen, follower._lease)
    else
      local ok, fault = try(receive, follower)
      if ok then
        pause = 1
      else
        if not K.catchable(fault) then error(fault, 0) end
        K.reportError(string.format("error: the messages of %s cannot be read and are asked for again in %d s: ",
          follower._of:stringValue(), pause), fault)
        native.awaitWake(follower._wake, seen, pause)
        pause = math.min(pause * 2, LONGEST_PAUSE)
      end
    end
  end
end

-- Renews the leases of running messages, until nothing runs after a stop.
local function keepLeases(follower)
  while not (follower._isStopped and follower._running == 0) do
    native.sleep(follower._lease / 3)
    local ok, fault = try(native.groupRenew, follower._member)
    if not ok then
      if not K.catchable(fault) then error(fault, 0) end
      K.reportError("error: the lease of messages could not be renewed: ", fault)
    end
  end
end

-- Messages ------------------------------------------------------------------------------------------

local function bounded(read, least, most)
  return function(value, name, self)
    value = read(value, name, self)
    if value < least or value > most then
      throw("invalid", string.format("`%s` of a follower must lie from %d to %d", name, least, most))
    end
    return value
  end
end

local OPTIONS = {
  attempts = bounded(take.count, 1, 100), concurrency = bounded(take.count, 1, 256), lease = bounded(take.seconds, 1, 3600),
}

local function configure(follower, options)
  local given = K.readOptions(options, "a follower", follower, OPTIONS)
  follower._attempts, follower._concurrency = given.attempts or ATTEMPTS, given.concurrency or CONCURRENCY
  follower._lease = given.lease or LEASE
end

local function follow(reference, name, block, options)
  name = K.expectText(name, "follow:do:")
  K.expectBlock(block, "follow:do:")
  if #followers >= MOST_FOLLOWERS then
    throw("tooLarge", "a program has at most " .. MOST_FOLLOWERS .. " followers of streams")
  end
  local follower = Follower:new()
  configure(follower, options)
  follower.i_name, follower._block, follower._of, follower._running = name, block, reference, 0
  local store, path, query, scheme = placeOf(reference)
  follower._member = native.joinGroup(store, path, query, scheme, name, follower._lease)
  follower._lease = native.groupLease(follower._member)
  follower._wake = "stream " .. K.randomToken(8)
  followers[#followers + 1] = follower
  K.detach(function() loop(follower) end)
  K.detach(function() keepLeases(follower) end)
  return follower
end

local function taking(last)
  return function(self, wait)
    local store, path, query, scheme = placeOf(self)
    local seconds = wait ~= nil and K.secondsOf(wait, last and "takeLast:" or "takeFirst:") or 0
    return native.takeElement(store, path, query, scheme, last and "last" or "first", seconds)
  end
end

--- -<String> name
--- The name under which followers share the messages.
--- > (ref:redis:orders follow: 'billing' do: { :message | nil }) name
K.ivar(Follower, "name")
K.methods(Follower, {
  --- -<self> stop
  --- Takes no more messages in this process; blocks that run end. The group and its position stay: `unfollow:` removes
  --- them.
  --- > (ref:redis:orders follow: 'billing' do: { :message | nil }) stop
  ["stop"] = function(self)
    self._isStopped = true
    for i = #followers, 1, -1 do
      if followers[i] == self then table.remove(followers, i) end
    end
    native.wake(self._wake)
    return self
  end,
  --- As in Object.
  ["description"] = function(self) return "follower " .. self.i_name end,
  --- As in Object.
  ["stringValue"] = function(self) return self:description() end,
})

K.methods(Message, {
  --- -<Reference> reference
  --- The reference of the stream.
  --- > { :message | message reference }
  ["reference"] = function(self) return self._of end,
  --- As in Object.
  ["description"] = function(self) return "message " .. self.i_id .. " of " .. self._of:stringValue() end,
  --- As in Object.
  ["stringValue"] = function(self) return self:description() end,
})

K.methods(K.classes.Reference, {
  --- -<any> takeFirst
  --- Removes the first element of a queue of Redis or NATS and answers it; nil for an empty queue. Other stores are an
  --- error.
  --- > ref:redis:mails takeFirst
  ["takeFirst"] = taking(false),
  --- -<any> takeFirst:<Duration>wait
  --- As `takeFirst`, and waits for an element up to this time; a number counts seconds.
  --- > ref:redis:mails takeFirst: 30 seconds
  ["takeFirst:"] = taking(false),
  --- -<any> takeLast
  --- Removes the last element of a queue of Redis and answers it; nil for an empty queue.
  --- > ref:redis:mails takeLast
  ["takeLast"] = taking(true),
  --- -<any> takeLast:<Duration>wait
  --- As `takeLast`, and waits for an element up to this time; a number counts seconds.
  --- > ref:redis:mails takeLast: 30 seconds
  ["takeLast:"] = taking(true),
  --- -<StreamFollower> follow:<String>name do:<Block(message)>block
  --- Runs the block for each message of a stream of Redis or NATS, at least once. Followers of the same name share the
  --- messages. A message whose block fails is delivered again, 20 times by default; then it is a dead letter.
  --- > ref:redis:orders follow: 'billing' do: { :message | stdout println: message value }
  ["follow:do:"] = function(self, name, block) return follow(self, name, block) end,
  --- -<StreamFollower> follow:<String>name do:<Block(message)>block with:<Dictionary?>options
  --- The same as `follow:do:` with the options `attempts` (1 to 100), `concurrency` (1 to 256) and `lease` (1 second to
  --- 1 hour).
  --- > ref:redis:orders follow: 'billing' do: { :message | nil } with: #{ concurrency: 8 }
  ["follow:do:with:"] = follow,
  --- -<Boolean> unfollow:<String>name
  --- Removes the group of a name from a stream, which then keeps no messages for it, and answers whether there was one.
  --- `stop` of a follower leaves the group.
  --- > ref:redis:orders unfollow: 'billing'
  ["unfollow:"] = function(self, name)
    local store, path, query, scheme = placeOf(self)
    return native.disbandGroup(store, path, query, scheme, K.expectText(name, "unfollow:"))
  end,
})

-- For the end of the program: takes no more messages and waits for those that run, for some seconds.
function K.stopStreams(patience)
  isStopping = true
  local deadline = native.now() + (patience or STOP_TIME)
  for i = 1, #followers do native.wake(followers[i]._wake) end
  for i = 1, #followers do
    while followers[i]._running > 0 and native.now() < deadline do native.sleep(0.01) end
  end
end

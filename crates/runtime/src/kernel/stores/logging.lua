-- LoggingStore: tells its log of each write, as a REST operation.
local K = ...
local rawget, setmetatable = rawget, setmetatable
local pathOf = K.pathOf
local Mapping = K.classes.MappingStore

--- A write, or a read, that a `LoggingStore` reports to its log: a verb and a reference.
local Operation = K.newClass("RESTOperation", K.classes.Object)
K.alias("MPWRESTOperation", Operation)
rawset(Operation._methods, "_isOperation", true)
K.nilKeys._isOperation = true
--- -<String> verb
--- The verb of HTTP: 'PUT', 'POST', 'PATCH', 'DELETE', or 'GET' where reads are reported.
--- > log := [ ]. #LoggingStore{ source: #{ }, log: log } at: 'a' put: 1. log first verb ⇒ 'PUT'
K.ivar(Operation, "verb")
--- -<Reference> reference
--- The reference of what was written, in the source of the store.
--- > log := [ ]. #LoggingStore{ source: #{ }, log: log } at: 'a' put: 1. log first reference value ⇒ 1
K.ivar(Operation, "reference")
K.methods(Operation, {
  --- -<String> HTTPVerb
  --- The verb, as `verb` answers it.
  --- > log := [ ]. #LoggingStore{ source: #{ }, log: log } at: 'a' put: 1. log first HTTPVerb ⇒ 'PUT'
  ["HTTPVerb"] = function(self) return self.i_verb end,
  --- -<String> description
  --- The verb and the reference.
  --- > log := [ ]. #LoggingStore{ source: #{ }, log: log } at: 'a' put: 1. log first description ⇒ 'PUT a'
  ["description"] = function(self) return self.i_verb .. " " .. self.i_reference:stringValue() end,
  --- -<any> applyTo:<Store>target
  --- Repeats the operation in another store, at the same path, and answers that store. A deletion deletes; every other
  --- operation writes the present content of the source.
  --- > log := [ ]. #LoggingStore{ source: #{ }, log: log } at: 'a' put: 1. (log[0] applyTo: #{ } asStore) at: 'a' ⇒ 1
  ["applyTo:"] = function(self, target)
    local path = self.i_reference._path
    if self.i_verb == "DELETE" then
      K.storeDelete(target, path)
    else
      K.storePutAt(target, path, self._source and K.storeGet(self._source, path))
    end
    return target
  end,
})
K.nilKeys._source, K.nilKeys._followers = true, true

--- A store that reports each write through it to its `log`, a stream, a list or a store, and to constraints that
--- observe it. A log that is a store repeats the writes.
local Logging = K.newClass("LoggingStore", Mapping)
K.alias("MPWLoggingStore", Logging)
K.alias("Log", Logging)
--- -<any> log
--- What gets an operation for each write, by `writeObject:`; nil without a log.
--- > log := [ ]. #LoggingStore{ source: #{ }, log: log } at: 'a' put: 1. log count ⇒ 1
K.ivar(Logging, "log")
--- -<Boolean?> logReads
--- Whether reads are reported to the log as well.
--- > log := [ ]. #LoggingStore{ source: #{ a: 1 }, log: log, logReads: true } at: 'a'. log first verb ⇒ 'GET'
K.ivar(Logging, "logReads", "bool")
local function tell(self, verb, reference)
  local path = pathOf(reference)
  if self.i_log then
    local reference = K.pathReference(path)
    reference._store = self.i_source
    local operation = setmetatable({ i_verb = verb, i_reference = reference }, Operation._methods)
    operation._source = self.i_source
    self.i_log:writeObject_(operation)
  end
  local followers = rawget(self, "_followers")
  if followers and verb ~= "GET" then
    -- From the end, where the first one is: a follower may end itself here.
    for i = #followers, 1, -1 do
      if followers[i] then followers[i](path) end
    end
  end
end
local function told(verb, name)
  local method = Mapping._methods[name]
  return function(self, a, b)
    local answer = method(self, a, b)
    tell(self, verb, name == "merge_at_" and b or a)
    return answer
  end
end
--- -<any> at:<Reference|String|Number>path put:<any>newValue
--- Writes the value to the source and reports a PUT.
--- > log := [ ]. #LoggingStore{ source: #{ }, log: log } at: 'a' put: 1. log first verb ⇒ 'PUT'
K.method(Logging, "at_put_", told("PUT", "at_put_"))
--- -<any> at:<Reference|String|Number>path post:<any>entry
--- Posts to the source and reports a POST.
--- > log := [ ]. #LoggingStore{ source: DictStore store, log: log } at: 'a' post: 1. log first verb ⇒ 'POST'
K.method(Logging, "at_post_", told("POST", "at_post_"))
--- -<any> merge:<any>fields at:<Reference|String|Number>path
--- Merges in the source and reports a PATCH.
--- > { #LoggingStore{ source: scheme:memory, log: stdout } merge: #{ done: true } at: 'tasks/7' }
K.method(Logging, "merge_at_", told("PATCH", "merge_at_"))
--- -<any> deleteAt:<Reference|String|Number>path
--- Deletes in the source and reports a DELETE.
--- > log := [ ]. #LoggingStore{ source: #{ a: 1 }, log: log } deleteAt: 'a'. log first verb ⇒ 'DELETE'
K.method(Logging, "deleteAt_", told("DELETE", "deleteAt_"))
K.methods(Logging, {
  --- As in Store.
  ["at:"] = function(self, reference)
    local answer = Mapping._methods.at_(self, reference)
    if self.i_logReads then tell(self, "GET", reference) end
    return answer
  end,
  --- -<self> logger
  --- The store itself: it reports writes already.
  --- > store := #LoggingStore{ source: #{ } }. store logger = store ⇒ true
  ["logger"] = function(self) return self end,
  --- -<self> follow:<Block(path)>block
  --- Evaluates the block with the path after each write through this store.
  --- > all := [ ]. (#LoggingStore{ source: #{ } } follow: { :path | all add: path }) at: 'a' put: 1. all ⇒ [ 'a' ]
  ["follow:"] = function(self, block)
    self._followers = rawget(self, "_followers") or {}
    table.insert(self._followers, 1, block)
    return self
  end,
})
-- The same; answers what ends it.
K.method(Logging, "_follow", function(self, block)
  self:follow_(block)
  return function()
    local followers = self._followers
    for i = 1, #followers do
      if followers[i] == block then return table.remove(followers, i) end
    end
  end
end)

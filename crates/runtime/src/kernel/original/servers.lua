-- Servers as the original's programs make them: a server of a scheme has a server of HTTP in it, which is the same
-- object here.
local K = ...
local throw = K.throw
local classes = K.classes
local Server = classes.HTTPServer

K.methods(Server, {
  --- -<self> server
  --- The server itself, for programs of the original: `server server setPort: 8080`.
  --- > server := #HTTPServer{ port: 8080 }. server server port ⇒ 8080
  ["server"] = function(self) return self end,
  --- -<nothing> setUnixDomainSocketPath:<String>path
  --- Sets the path of the Unix socket to listen on, as `socket:` does.
  --- > server := #HTTPServer{ }. server setUnixDomainSocketPath: 'shop.sock'. server socket ⇒ 'shop.sock'
  ["setUnixDomainSocketPath:"] = function(self, path) self:setSocket_(path) end,
  --- -<Boolean> startHttpd
  --- Starts the server, as `start` does, and answers true; a failure is an error.
  --- > #HTTPServer{ scheme: #SiteMap{ hi: 'Hello' } } startHttpd
  ["startHttpd"] = function(self)
    self:start()
    return true
  end,
})
K.classMethods(Server, {
  --- +<self> server
  --- A new server, as `new` answers it.
  --- > HTTPServer server port ⇒ 51001
  ["server"] = function(class) return class:new() end,
})

K.classMethods(classes.Store, {
  --- +<HTTPServer> serveOnPort:<Number>port
  --- +<HTTPServer> serveOn:<Number>port
  --- Starts an HTTP server for a new store of the class, and answers it; port 0 takes a free one.
  --- > SiteMap serveOnPort: 8080
  ["serveOnPort:"] = K.serveOn,
  ["serveOn:"] = K.serveOn,
})
K.methods(classes.Store, {
  --- -<HTTPServer> serveOn:<Number>port
  --- Starts an HTTP server for the store, as `serveOnPort:` does.
  --- > #SiteMap{ hi: 'Hello' } serveOn: 8080
  ["serveOn:"] = K.serveOn,
})

K.classMethods(classes.Cache, {
  --- +<Cache> memoryStore
  --- A new cache, whose entries are in memory.
  --- > (Cache memoryStore → #DictStore{ a: 1 }) at: 'a' ⇒ 1
  ["memoryStore"] = function(class) return class:new() end,
})
K.alias("MPWSequentialScheme", classes.Sequence)
K.methods(classes.Sequence, {
  --- -<nothing> addScheme:<any>store
  --- -<nothing> addStore:<any>store
  --- Adds a store below the others, as a connection does.
  --- > store := #Sequence{ stores: [ #{ a: 1 } ] }. store addScheme: #{ b: 2 }. store at: 'b' ⇒ 2
  ["addScheme:"] = function(self, store) self:setSource_(store) end,
  ["addStore:"] = function(self, store) self:setSource_(store) end,
})
K.methods(classes.MappingStore, {
  --- -<nothing> setTarget:<any>source
  --- Sets the store behind this one, as `setSource:` does.
  --- > store := ReadOnly new. store setTarget: #DictStore{ a: 1 }. store at: 'a' ⇒ 1
  ["setTarget:"] = function(self, source) self:setSource_(source) end,
})
-- The entries below a path as a dictionary, with one dictionary for each name that has entries below it.
local DEEPEST = 100
local function entriesBelow(store, path, depth)
  if depth > DEEPEST then throw("invalid", "the store is deeper than 100 levels") end
  local entries, names = K.newDictionary(), K.storeList(store, path) or {}
  for i = 1, #names do
    local name = string.match(names[i], "^(.+)/$")
    local at = (path == "" and "" or path .. "/") .. (name or names[i])
    local entry
    if name then entry = entriesBelow(store, at, depth + 1) else entry = K.storeGet(store, at) end
    entries:at_put_(K.decodeSegment(name or names[i]), entry)
  end
  return entries
end
K.methods(classes.DictStore, {
  --- -<Dictionary> dict
  --- A copy of all entries as a dictionary; those below a path are a dictionary in it.
  --- > #DictStore{ a: 1, 'b/c': 2 } dict ⇒ #{ a: 1, b: #{ c: 2 } }
  ["dict"] = function(self) return entriesBelow(self, "", 1) end,
})

K.methods(classes.Reference, {
  --- -<HTTPStore> asUnixSocketStore
  --- A client of the HTTP server that listens on the Unix socket at a reference to a file.
  --- > ref:file:/run/app.sock asUnixSocketStore socket ⇒ '/run/app.sock'
  ["asUnixSocketStore"] = function(self)
    if self._scheme ~= "file" then
      throw("invalid", self:stringValue() .. " is no path of a socket", { i_hint = "write `ref:file:/run/app.sock`" })
    end
    local store = classes.HTTPStore:new()
    store:setBase_("http://localhost")
    store:setSocket_(self:path())
    return store
  end,
})

--- A store whose contents are JSON texts, seen as objects: a `JSONConverter` with `up: false`, the default of
--- `MPWJSONConverterStore` in the original. With `up: true` it is a `JSONConverter`.
local Converter = K.newClass("JSONParsingStore", classes.JSONConverter)
K.alias("MPWJSONConverterStore", Converter)
local new = classes.JSONConverter._meta.new
local function make(class)
  local store = new(class)
  store.i_up = false
  return store
end
K.classMethods(Converter, {
  --- +<self> new
  --- +<self> store
  --- +<self> scheme
  --- A new converter that parses what it reads and writes JSON.
  --- > JSONParsingStore new up ⇒ false
  ["new"] = make, ["store"] = make, ["scheme"] = make,
})

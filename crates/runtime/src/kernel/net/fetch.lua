-- Requests to other servers, as a program words them, and their answers with status and headers:
-- `ref:https://host/orders fetch: #{ json: #{ title: 'tea' } }`.
local K = ...
local type, rawget, rawset = type, rawget, rawset
local lower, upper, match = string.lower, string.upper, string.match
local native, throw, classes = K.native, K.throw, K.classes

-- Bytes of an answer that are read into memory at once, where the request says nothing else.
local LARGEST_ANSWER = 67108864 -- 64 MiB

for _, key in ipairs { "_answer", "_fields", "_bytes", "_json", "_most", "_url" } do K.nilKeys[key] = true end

-- A program may use these names for classes of its own.
local function plain(class)
  rawset(class, "_plainName", true)
  return class
end

-- Headers ----------------------------------------------------------------------------------------------

--- The headers of an HTTP answer: a dictionary whose names are lowercase and are found in any case.
local Fields = plain(K.newClass("AnswerHeaders", K.classes.Dictionary))
local base = classes.Dictionary._methods
local function anyCase(selector)
  local method = base[K.mangle(selector)]
  return function(self, key, ...)
    return method(self, type(key) == "string" and lower(key) or key, ...)
  end
end
--- AnswerHeaders -<String?> at:<String>name
--- AnswerHeaders -<String?> objectForKey:<String>name
--- The value of a header, whatever the case of its name; several fields of a name are joined by `, `. Nil without one.
--- > (ref:https://shop.example/orders fetch) headers at: 'ETag'

--- AnswerHeaders -<any> at:<String>name ifAbsent:<Block()>block
--- The value of a header, or the value of the block where the answer has none.
--- > (ref:https://shop.example/orders fetch) headers at: 'ETag' ifAbsent: { 'none' }

--- AnswerHeaders -<Boolean> includesKey:<String>name
--- Whether the answer has the header.
--- > (ref:https://shop.example/orders fetch) headers includesKey: 'Retry-After'
for _, selector in ipairs { "at:", "objectForKey:", "at:ifAbsent:", "includesKey:" } do
  if base[K.mangle(selector)] then K.method(Fields, K.mangle(selector), anyCase(selector)) end
end
--- -<Array> all:<String>name
--- The values of all fields of a name, one by one; empty without any. `at:` joins them.
--- > (ref:https://shop.example/login fetch) headers all: 'Set-Cookie'
K.method(Fields, "all_", function(self, name)
  local values = rawget(self, "_fields")[lower(K.expectText(name, "all:"))] or {}
  local list = {}
  for i = 1, #values do list[i] = values[i] end
  return K.array(list, #list)
end)

local function fieldsOf(list)
  local keys, joined, apart, n = {}, {}, {}, 0
  for i = 1, #list, 2 do
    local name, value = list[i], list[i + 1]
    if not apart[name] then
      n = n + 1
      keys[n], apart[name] = name, {}
    end
    local values = apart[name]
    values[#values + 1] = value
    joined[name] = table.concat(values, ", ")
  end
  local fields = setmetatable({ _keys = keys, _map = joined, _n = n }, Fields._methods)
  rawset(fields, "_fields", apart)
  return fields
end

-- Bodies -----------------------------------------------------------------------------------------------

-- The body of an answer: what fails in it is an affair of the program and its server, not of a client.
local Stream = K.classes.ContentStream
--- The body of an HTTP answer as a stream, which is read once.
local Body = plain(K.newClass("AnswerBody", Stream))

local function readAll(self, most) return native.answerRead(self._native, most) end

K.methods(Body, {
  --- As in ContentStream.
  ["produce"] = function(self)
    local reader = native.answerReader(self._native)
    while true do
      local piece = native.answerPiece(reader)
      if piece == nil or not K.emit(self, K.data(piece)) then return end
    end
  end,
  --- -<Data> data
  --- Reads the whole body. More than 64 MiB is an error.
  --- > (ref:https://shop.example/logo.png fetch) body data size
  ["data"] = function(self) return K.data(readAll(self, LARGEST_ANSWER)) end,
  --- -<String> text
  --- Reads the whole body as text. More than 64 MiB is an error, and so is a body that is not UTF-8.
  --- > (ref:https://shop.example/orders fetch) body text
  ["text"] = function(self)
    local text = readAll(self, LARGEST_ANSWER)
    if not K.isUtf8(text) then
      throw("invalid", "the body of the answer is not UTF-8", { i_hint = "`data` gives its bytes", _side = "store" })
    end
    return text
  end,
  --- As in Object.
  ["description"] = function() return "the body of an answer" end,
})

local function adopt(held)
  local body = Body:new()
  body._native = held
  return body
end

-- Answers ----------------------------------------------------------------------------------------------

--- The answer of another server to `fetch`: status, headers and body. No status is an error.
local HTTPAnswer = plain(K.newClass("HTTPAnswer", K.classes.Object))

local function head(self, name)
  local known = self._fields
  if not known then
    known = native.answerHead(self._answer)
    self._fields = known
  end
  return known:at_(name)
end

-- The address without what may be secret.
local function shownAddress(self) return (string.gsub(head(self, "address"), "[?#].*$", "")) end

-- The whole body, which stays for later messages.
local function bytes(self)
  local known = rawget(self, "_bytes")
  if known == nil then
    known = native.answerRead(native.answerBody(self._answer), self._most or LARGEST_ANSWER)
    self._bytes = known
  end
  return known
end

local function text(self)
  local known = bytes(self)
  if not K.isUtf8(known) then
    throw("invalid", "the answer of " .. shownAddress(self) .. " is not UTF-8",
      { i_hint = "`data` gives its bytes", _side = "store" })
  end
  return known
end

K.methods(HTTPAnswer, {
  --- -<Number> status
  --- The status code.
  --- > (ref:https://shop.example/orders fetch) status
  ["status"] = function(self) return head(self, "status") end,
  --- -<Boolean> isOk
  --- Whether the status is from 200 to 299.
  --- > (ref:https://shop.example/orders fetch) isOk ifFalse: { stdout println: 'no orders' }
  ["isOk"] = function(self)
    local status = head(self, "status")
    return status >= 200 and status < 300
  end,
  --- -<AnswerHeaders> headers
  --- The headers as a dictionary with lowercase names, which finds names in any case.
  --- > (ref:https://shop.example/orders fetch) headers at: 'Content-Type'
  ["headers"] = function(self)
    local fields = head(self, "headers")
    if fields._fields == nil then
      fields = fieldsOf(fields)
      self._fields:at_put_("headers", fields)
    end
    return fields
  end,
  --- -<String> address
  --- The URL that answered, after redirects.
  --- > (ref:https://shop.example/old fetch) address
  ["address"] = function(self) return head(self, "address") end,
  --- -<String?> mediaType
  --- The media type of the body in lowercase, without parameters; nil without the header `Content-Type`.
  --- > (ref:https://shop.example/orders fetch) mediaType
  ["mediaType"] = function(self)
    local kind = self:headers():at_("content-type")
    return kind and lower(match(kind, "^%s*([^;%s]+)") or "")
  end,
  --- -<String> text
  --- The whole body as text, as often as asked. A body of more than 64 MiB (or `maxBodySize`) is an error, and so is a
  --- body that is not UTF-8.
  --- > (ref:https://shop.example/orders fetch) text
  ["text"] = text,
  --- -<Data> data
  --- The bytes of the whole body, as often as asked. More than 64 MiB (or `maxBodySize`) is an error.
  --- > (ref:https://shop.example/logo.png fetch) data size
  ["data"] = function(self) return K.data(bytes(self)) end,
  --- -<any> json
  --- The value of the body, parsed as JSON; nil for `null`. A body that is not JSON is an error of kind `invalid`.
  --- > (ref:https://shop.example/orders fetch) json at: 'items'
  ["json"] = function(self)
    local known = rawget(self, "_json")
    if known == nil then
      local ok, value = K.try(K.parseJSON, text(self))
      if not ok then
        throw("invalid", "the answer of " .. shownAddress(self) .. " is not JSON: " .. K.str(value.i_message),
          { _side = "store" })
      end
      known = value == nil and K.NULL or value
      self._json = known
    end
    if known == K.NULL then return nil end
    return known
  end,
  --- -<AnswerBody> body
  --- The body as a stream, which is read once, in pieces, without a limit. `text`, `json` and `data` load it whole.
  --- > file:copy.zip ← (ref:https://shop.example/large.zip fetch) body
  ["body"] = function(self)
    if rawget(self, "_bytes") then return adopt(native.streamOf(self._bytes)) end
    return adopt(native.answerBody(self._answer))
  end,
  --- As in Object.
  ["description"] = function(self) return "an answer with status " .. K.str(head(self, "status")) end,
})

-- What is sent -----------------------------------------------------------------------------------------

local function each(value, act)
  if type(value) == "table" and value._isArray then
    local list = K.elementsOf(value, "fetch:")
    for i = 1, #list do act(list[i]) end
  else
    act(value)
  end
end

local function expectFields(value, option)
  if type(value) ~= "table" or K.isClass(value) or not value._isDictionary then
    throw("typeError", string.format("`%s` of fetch: must be a dictionary, not %s", option, K.nameOf(value)))
  end
  return value
end

local function encodedForm(fields)
  local pairsOf = {}
  expectFields(fields, "form"):keysAndValuesDo_(function(name, value)
    each(value, function(one)
      pairsOf[#pairsOf + 1] = K.str(name):urlEncoded() .. "=" .. K.str(one == nil and "" or one):urlEncoded()
    end)
  end)
  return table.concat(pairsOf, "&")
end

-- The content of a reference as a stream.
local function opened(reference)
  if rawget(reference, "_get") or reference._scheme == "var" or reference._scheme == "default" then
    return reference:value()
  end
  local at, query = K.splitPath(reference._path)
  local held = native.openContent(K.nativeStore(reference:store()), at, query, reference._scheme)
  if held == nil then
    throw("notFound", string.format("there is nothing at %s to send", reference:stringValue()))
  end
  return adopt(held)
end

local function addPart(form, name, value)
  if type(value) ~= "table" then return native.addPart(form, name, nil, nil, K.str(value)) end
  if value._isText or value._isBig == true then return native.addPart(form, name, nil, nil, K.str(value)) end
  if value._isReference then
    local content = opened(value)
    return native.addPart(form, name, value:name(), nil, content)
  end
  if K.isKind(value, classes.FormFile) then
    return native.addPart(form, name, K.str(value.i_name or name), value.i_mediaType and K.str(value.i_mediaType), value.i_data)
  end
  if value._isContentStream then
    local fileName = K.understands(value, "fileName") and value:fileName() or name
    return native.addPart(form, name, fileName, nil, value)
  end
  if value._isData then return native.addPart(form, name, name, nil, value) end
  return native.addPart(form, name, nil, nil, K.str(value))
end

local function formOf(parts)
  local form = native.formData()
  expectFields(parts, "parts"):keysAndValuesDo_(function(name, value)
    each(value, function(one) if one ~= nil then addPart(form, K.str(name), one) end end)
  end)
  return form
end

-- Options of `fetch:` that are content → the content and its media type.
local contents = {
  json = function(value) return K.json(value), "application/json" end,
  form = function(value) return encodedForm(value), "application/x-www-form-urlencoded" end,
  parts = function(value) return formOf(value) end,
  body = function(value)
    if type(value) == "table" and value._isReference then value = opened(value) end
    local isBytes = type(value) == "table" and (value._isData or value._isContentStream)
    if isBytes then return value end
    if type(value) == "string" or type(value) == "table" and value._isText then return K.str(value) end
    throw("typeError", "`body` of fetch: must be a text, Data, a stream or a reference, not " .. K.nameOf(value),
      { i_hint = "`json` and `form` encode values" })
  end,
}

local REDIRECTS = { follow = true, manual = true, error = true }
local settings = {
  method = function(value) return upper(K.expectText(value, "`method` of fetch:")) end,
  redirects = function(value)
    local name = K.expectText(value, "`redirects` of fetch:")
    if not REDIRECTS[name] then
      throw("invalid", "`redirects` of fetch: must be 'follow', 'manual' or 'error', not '" .. name .. "'")
    end
    return name
  end,
  timeout = function(value) return K.secondsOf(value, "timeout:") end,
  maxBodySize = function(value) return K.expectSize(value, "maxBodySize:") end,
}
local OPTIONS = { "body", "form", "headers", "json", "maxBodySize", "method", "parts", "redirects", "timeout" }

local function unknown(name)
  local near = K.nearest(name, OPTIONS)
  throw("unknownProperty", string.format("fetch: has no option `%s`", name),
    { i_hint = near and "did you mean `" .. near .. "`?" or "its options are " .. table.concat(OPTIONS, ", ") })
end

-- The headers of a request as a list of names and values, and the media type that they name.
local function headersOf(dictionary)
  local list, mediaType = {}, nil
  if dictionary == nil then return list end
  expectFields(dictionary, "headers"):keysAndValuesDo_(function(name, value)
    each(value, function(one)
      if one == nil then return end
      if lower(K.str(name)) == "content-type" then mediaType = K.str(one) return end
      list[#list + 1] = K.str(name)
      list[#list + 1] = K.str(one)
    end)
  end)
  return list, mediaType
end

local function fetch(self, options)
  local keys, plainOptions, n = {}, {}, 0
  local function set(name, value)
    n = n + 1
    keys[n], plainOptions[name] = name, value
  end
  local content, mediaType, named, headers
  if options ~= nil then
    if type(options) ~= "table" or K.isClass(options) or not options._isDictionary then
      throw("typeError", "fetch: needs a dictionary of options, not " .. K.nameOf(options),
        { i_hint = "write `fetch: #{ method: 'POST', json: … }`" })
    end
    options:keysAndValuesDo_(function(key, value)
      local name = K.str(key)
      if name == "headers" then
        headers = value
      elseif contents[name] then
        if named then throw("invalid", string.format("a request has one content: `%s` or `%s`", named, name)) end
        named = name
        content, mediaType = contents[name](value)
      elseif settings[name] then
        if value ~= nil then set(name, settings[name](value)) end
      else
        unknown(name)
      end
    end)
  end
  if named and not plainOptions.method then set("method", "POST") end
  local list, ownType = headersOf(headers)
  local at, query = K.splitPath(self._path)
  local answer = HTTPAnswer:new()
  answer._answer = native.fetch(K.nativeStore(self:store()), at, query, self._scheme, K.dictionary(keys, plainOptions, n),
    K.array(list, #list), content, ownType or mediaType)
  answer._most = plainOptions.maxBodySize
  return answer
end

K.methods(K.classes.Reference, {
  --- -<HTTPAnswer> fetch
  --- Sends a GET request and answers status, headers and body. No status is an error; a failed connection is one.
  --- Reading the reference itself gives the body alone, and nil for 404.
  --- > (ref:https://shop.example/orders fetch) status
  ["fetch"] = function(self) return fetch(self) end,
  --- -<HTTPAnswer> fetch:<Dictionary?>options
  --- Sends a request with the options `method`, `headers`, one of `json`, `form`, `parts` and `body`, and `redirects`,
  --- `timeout`, `maxBodySize`. The method is GET, and POST with content. Another option is an error.
  --- > ref:https://shop.example/orders fetch: #{ json: #{ title: 'tea' }, timeout: 5 seconds }
  --- > ref:https://shop.example/ fetch: #{ metod: 'PUT' } ⇒ error: fetch: has no option `metod`
  ["fetch:"] = fetch,
})

-- WebSockets to other servers --------------------------------------------------------------------------

local function connect(self)
  local socket = classes.WebSocket:new()
  local at, query = K.splitPath(self._path)
  native.openSocket(socket._native, K.nativeStore(self:store()), at, query, self._scheme)
  return socket
end

K.methods(K.classes.Reference, {
  --- -<WebSocket> connect
  --- Opens a WebSocket to an HTTP reference. An error where the server refuses it.
  --- > socket := ref:https://shop.example/live connect. socket send: 'hello'. socket next
  ["connect"] = connect,
  --- -<any> connectDo:<Block(socket)>block
  --- Opens a WebSocket for the block, and closes it when the block ends, by an error or a cancellation too. Answers the
  --- value of the block.
  --- > ref:https://shop.example/live connectDo: { :socket | socket send: 'hello'. socket next }
  ["connectDo:"] = function(self, block)
    K.expectBlock(block, "connectDo:")
    local socket = connect(self)
    return classes.Block._methods.ensure_(function() return block(socket) end, function() socket:close() end)
  end,
})
K.methods(K.classes.WebSocket, {
  --- -<Number?> closeCode
  --- The close code of a socket that the program opened, once it is closed; nil before.
  --- > WebSocket new closeCode ⇒ nil
  ["closeCode"] = function(self) return native.socketCode(self._native) end,
})

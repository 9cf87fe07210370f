-- Content that a handler takes while it arrives: `post streamed { … }`, `body:stream`, `parts:stream`.
local K = ...
local type, rawset = type, rawset
local find, match = string.find, string.match
local native, throw, classes = K.native, K.throw, K.classes

-- What is read into memory at once, in bytes.
local MOST_TEXT = 1048576 -- 1 MiB
local MOST_DATA = 8388608 -- 8 MiB
-- The longest name of a file, in bytes: that of file systems.
local LONGEST_NAME = 255
-- Bytes at the beginning that tell which image a stream is.
local IMAGE_START = 64

for _, field in ipairs { "_fileName", "_parts" } do K.nilKeys[field] = true end

-- A program may use these names for classes of its own.
local function plain(class)
  rawset(class, "_plainName", true)
  return class
end

-- Streams --------------------------------------------------------------------------------------------

local ContentStream = plain(K.newClass("ContentStream", classes.Source))
K.method(ContentStream, "_isContentStream", true)
K.nilKeys._isContentStream = true

local function about(self, name) return native.streamAbout(self._native):at_(name) end

K.methods(ContentStream, {
  -- Each piece as Data; the client sends as fast as they are taken.
  ["produce"] = function(self)
    local reader = native.streamReader(self._native)
    while true do
      local piece = native.streamPiece(reader)
      if piece == nil or not K.emit(self, K.data(piece)) then return end
    end
  end,
  ["data"] = function(self) return K.data(native.streamRead(self._native, MOST_DATA)) end,
  ["text"] = function(self)
    local text = native.streamRead(self._native, MOST_TEXT)
    if not K.isUtf8(text) then throw("invalid", "the text is not UTF-8", { _side = "request" }) end
    return text
  end,
  -- What the client says, and what the first bytes say.
  ["mediaType"] = function(self) return about(self, "mediaType") end,
  ["length"] = function(self) return about(self, "length") end,
  ["imageType"] = function(self) return native.imageType(native.streamStart(self._native, IMAGE_START)) end,
  -- More bytes are an error of the client, 413.
  ["atMost:"] = function(self, bytes)
    bytes = K.expectInteger(bytes, "atMost:")
    if bytes < 0 then throw("invalid", "atMost: needs a number of bytes, not " .. K.str(bytes)) end
    native.streamLimit(self._native, bytes)
    return self
  end,
  ["description"] = function() return "a stream" end,
})

local function adopt(class, held)
  local stream = class:new()
  stream._native = held
  return stream
end

-- What a `streamed` handler gets: the body of a request, or what a program writes.
function K.streamOf(value)
  if type(value) == "userdata" then return adopt(ContentStream, value) end
  if type(value) == "table" and value._isContentStream then return value end
  if value == nil or type(value) == "string" or type(value) == "table" and (value._isData or value._isText) then
    if type(value) == "table" and value._isText then value = value:_string() end
    return adopt(ContentStream, native.streamOf(value == nil and "" or K.bytesOf(value, "a stream")))
  end
  throw("typeError", "a `streamed` handler takes bytes, not " .. K.nameOf(value),
    { i_hint = "let no converter stand in front of it" })
end

-- Whether the running fiber answers a request whose body is a stream.
function K.hasRequestStream() return native.requestStream() ~= nil end

function K.requestStream()
  local held = native.requestStream()
  if held == nil then
    throw("typeError", "`body:stream` is known in a `streamed` handler alone",
      { i_hint = "write `streamed` behind its verb: `post streamed { … }`" })
  end
  return adopt(ContentStream, held)
end

-- Parts of a form -----------------------------------------------------------------------------------------

local FormPart = plain(K.newClass("FormPart", ContentStream))
K.ivar(FormPart, "field")
K.methods(FormPart, {
  ["field"] = function(self) return self.i_field end,
  ["isFile"] = function(self) return self._fileName ~= nil end,
  -- Without the folders that a client may put in front: a name that can be one segment of a path.
  ["fileName"] = function(self)
    local name = self._fileName and match(self._fileName, "([^/\\]*)$")
    if name == nil or self._fileName == "" then return nil end
    if name == "" or name == "." or name == ".." or #name > LONGEST_NAME or find(name, "%c") then
      throw("invalid", "the name of an uploaded file is no name of a file", { _side = "request" })
    end
    return name
  end,
  ["description"] = function(self) return "the part " .. K.str(self.i_field) end,
})

local FormParts = plain(K.newClass("FormParts", classes.Source))
K.methods(FormParts, {
  -- One after another; what a block does not read of a part is passed over.
  ["produce"] = function(self)
    while true do
      local held = native.nextPart(self._parts)
      if held == nil then return end
      local part, head = adopt(FormPart, held), native.nextPart(self._parts, true)
      part.i_field, part._fileName = head:at_("field"), head:at_("fileName")
      if not K.emit(self, part) then return end
    end
  end,
  ["description"] = function() return "the parts of a form" end,
})

function K.requestParts()
  local parts = FormParts:new()
  parts._parts = native.requestParts()
  return parts
end

-- Content that a handler takes while it arrives: `post streamed { … }`, `body:stream`, `parts:stream`.
local K = ...
local type, rawset = type, rawset
local find, match = string.find, string.match
local native, throw = K.native, K.throw

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

--- The body of a request that a `streamed` handler reads while it arrives: `body:stream`. A stream is read once.
local ContentStream = plain(K.newClass("ContentStream", K.classes.Source))
K.method(ContentStream, "_isContentStream", true)
K.nilKeys._isContentStream = true

local function about(self, name) return native.streamAbout(self._native):at_(name) end

K.methods(ContentStream, {
  --- -<nothing> produce
  --- Forwards each piece of the content as Data, as large as it arrives. Programs send `do:` instead.
  --- > body:stream do: { :piece | stdout println: piece size }
  ["produce"] = function(self)
    local reader = native.streamReader(self._native)
    while true do
      local piece = native.streamPiece(reader)
      if piece == nil or not K.emit(self, K.data(piece)) then return end
    end
  end,
  --- -<Data> data
  --- Reads the whole content. More than 8 MiB is an error, 413.
  --- > body:stream data size
  ["data"] = function(self) return K.data(native.streamRead(self._native, MOST_DATA)) end,
  --- -<String> text
  --- Reads the whole content as text. More than 1 MiB is an error, 413; content that is not UTF-8 is an error, 400.
  --- > body:stream text
  ["text"] = function(self)
    local text = native.streamRead(self._native, MOST_TEXT)
    if not K.isUtf8(text) then throw("invalid", "the text is not UTF-8", { _side = "request" }) end
    return text
  end,
  --- -<String?> mediaType
  --- The media type that the client declares; nil without one. Compare `imageType`, which reads the content.
  --- > body:stream mediaType
  ["mediaType"] = function(self) return about(self, "mediaType") end,
  --- -<Number?> length
  --- The number of bytes that the client declares; nil for a chunked body.
  --- > body:stream length
  ["length"] = function(self) return about(self, "length") end,
  --- -<String?> imageType
  --- The media type of the image by its first bytes (`image/png`, `image/jpeg`, `image/gif`, `image/webp`,
  --- `image/avif`); nil for other content. The bytes remain to be read.
  --- > body:stream imageType
  ["imageType"] = function(self) return native.imageType(native.streamStart(self._native, IMAGE_START)) end,
  --- -<self> atMost:<ByteSize|String>size
  --- Limits the content: reading more bytes is an error, 413. A negative limit is an error.
  --- > (body:stream atMost: 1 kilobyte) text
  ["atMost:"] = function(self, size)
    native.streamLimit(self._native, K.expectSize(size, "atMost:"))
    return self
  end,
  --- As in Object.
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

--- A part of a `multipart/form-data` body, as a stream: a field or a file. `parts:stream` gives them one after another.
local FormPart = plain(K.newClass("FormPart", ContentStream))
--- -<String> field
--- The name of the form field.
--- > parts:stream do: { :part | stdout println: part field }
K.ivar(FormPart, "field")
K.methods(FormPart, {
  ["field"] = function(self) return self.i_field end,
  --- -<Boolean> isFile
  --- Whether the part is a file: whether the client sent a file name with it.
  --- > parts:stream do: { :part | part isFile ifTrue: { file:photos/{UUID v7} ← part } }
  ["isFile"] = function(self) return self._fileName ~= nil end,
  --- -<String?> fileName
  --- The name of the file without folders, so that it can be one segment of a path; nil for a field. A name with
  --- control characters, or with more than 255 bytes, is an error of the client.
  --- > parts:stream do: { :part | part isFile ifTrue: { file:uploads/{part fileName} ← part } }
  ["fileName"] = function(self)
    local name = self._fileName and match(self._fileName, "([^/\\]*)$")
    if name == nil or self._fileName == "" then return nil end
    if name == "" or name == "." or name == ".." or #name > LONGEST_NAME or find(name, "%c") then
      throw("invalid", "the name of an uploaded file is no name of a file", { _side = "request" })
    end
    return name
  end,
  --- As in Object.
  ["description"] = function(self) return "the part " .. K.str(self.i_field) end,
})

--- The parts of a `multipart/form-data` body, read while they arrive: `parts:stream`.
local FormParts = plain(K.newClass("FormParts", K.classes.Source))
K.methods(FormParts, {
  --- -<nothing> produce
  --- Forwards each part as a FormPart. What a reader leaves of a part is skipped. Programs send `do:` instead.
  --- > parts:stream do: { :part | stdout println: part text }
  ["produce"] = function(self)
    while true do
      local held = native.nextPart(self._parts)
      if held == nil then return end
      local part, head = adopt(FormPart, held), native.nextPart(self._parts, true)
      part.i_field, part._fileName = head:at_("field"), head:at_("fileName")
      if not K.emit(self, part) then return end
    end
  end,
  --- As in Object.
  ["description"] = function() return "the parts of a form" end,
})

function K.requestParts()
  local parts = FormParts:new()
  parts._parts = native.requestParts()
  return parts
end

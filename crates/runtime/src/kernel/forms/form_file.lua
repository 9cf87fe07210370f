-- Files of a form that has arrived, and which image bytes are.
local K = ...
local setmetatable, sub = setmetatable, string.sub
local classes = K.classes

-- Bytes at the beginning that tell which image they are.
local IMAGE_START = 64

K.methods(classes.Data, {
  --- -<String?> imageType
  --- The media type of an image that browsers show, by its first bytes: PNG, JPEG, GIF, WebP or AVIF. nil for
  --- anything else.
  --- > 'GIF89a and more bytes of it' asData imageType ⇒ 'image/gif'
  ["imageType"] = function(self) return K.native.imageType(sub(self._bytes, 1, IMAGE_START)) end,
})

--- A file of a submitted form: `form:photo`. The client chooses its name and media type, so neither is to be trusted.
local FormFile = K.newClass("FormFile", classes.Object)
--- FormFile -<String> name
--- The name of the file that the client sent.
--- > form:photo name

--- FormFile -<String?> mediaType
--- The media type that the client sent; that of the content where a variable `<image>` took the file.
--- > form:photo mediaType

--- FormFile -<Data> data
--- The content of the file.
--- > file:photos/new ← form:photo data
for _, name in ipairs { "name", "mediaType", "data" } do K.ivar(FormFile, name) end
K.classMethods(FormFile, {
  --- +<nothing> new
  --- An error: only a form that a client sends makes a file.
  --- > FormFile new ⇒ error: a FormFile is made by a form that a client sends
  ["new"] = function()
    K.throw("unsupported", "a FormFile is made by a form that a client sends", { i_hint = "read it with `form:photo`" })
  end,
})
K.methods(FormFile, {
  --- -<Number> size
  --- How many bytes the file has.
  --- > form:photo size
  ["size"] = function(self) return self.i_data:length() end,
  --- -<String?> imageType
  --- The media type of an image that browsers show, by the first bytes of the content; nil for anything else.
  --- > form:photo imageType
  ["imageType"] = function(self) return self.i_data:imageType() end,
  --- -<any> at:<String>name
  --- The property with this name, so that `form:photo/size` reads it. An unknown name is an error.
  --- > form:photo at: 'size'
  ["at:"] = function(self, name) return K.property(self, name) end,
  --- -<String> description
  --- The name of the file.
  --- > form:photo description
  ["description"] = function(self) return self.i_name end,
})

-- The file that a record of a form is; the media type of an image is that of its content.
function K.formFile(record, isImage)
  local map = record._map
  local file = setmetatable({ i_name = map.name, i_mediaType = map.mediaType, i_data = map.data }, FormFile._methods)
  if isImage then file.i_mediaType = file:imageType() end
  return file
end

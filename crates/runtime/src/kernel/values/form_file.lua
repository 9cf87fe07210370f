-- Files of a form that has arrived, and which image bytes are.
local K = ...
local setmetatable, sub = setmetatable, string.sub
local classes = K.classes

-- Bytes at the beginning that tell which image they are.
local IMAGE_START = 64

K.methods(classes.Data, {
  -- The media type of an image that browsers show, by its content; nil for anything else.
  ["imageType"] = function(self) return K.native.imageType(sub(self._bytes, 1, IMAGE_START)) end,
})

local FormFile = K.newClass("FormFile", classes.Object)
for _, name in ipairs { "name", "mediaType", "data" } do K.ivar(FormFile, name) end
K.methods(FormFile, {
  ["size"] = function(self) return self.i_data:length() end,
  ["imageType"] = function(self) return self.i_data:imageType() end,
  ["at:"] = function(self, name) return K.property(self, name) end,
  ["description"] = function(self) return self.i_name end,
})

-- The file that a record of a form is; the media type of an image is that of its content.
function K.formFile(record, isImage)
  local map = record._map
  local file = setmetatable({ i_name = map.name, i_mediaType = map.mediaType, i_data = map.data }, FormFile._methods)
  if isImage then file.i_mediaType = file:imageType() end
  return file
end

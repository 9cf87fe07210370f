-- The standard programs (`std/`): each is a dictionary of blocks, the views of a page.
local K = ...
local type, throw = type, K.throw

--- The views of a standard program as a store.
local Views = K.newClass("StandardViews", K.classes.Store)
K.nilKeys._views = true
K.methods(Views, {
  --- As in Store.
  ["at:post:"] = function(self, reference, model)
    local name = string.gsub(K.splitPath(K.pathOf(reference)), "^/+", "")
    local view = self._views:at_(name)
    if view == nil then throw("notFound", "there is no view `" .. name .. "`") end
    local shown = view(model)
    if type(shown) == "table" and shown._isArray then return shown end
    return shown:asHTML()
  end,
})

local loaded = {}

-- The views of a standard program, compiled when they are first needed.
function K.standard(name)
  local views = loaded[name]
  if not views then
    views = Views:new()
    views._views = K.native.standard(name)(K)
    loaded[name] = views
  end
  return views
end

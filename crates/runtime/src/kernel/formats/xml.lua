-- XML: a text as a tree of elements, and back.
local K = ...
local type, gsub, find, concat = type, string.gsub, string.find, table.concat
local throw, NULL = K.throw, K.NULL

-- Elements within each other that are written; the parser has the same limit.
local DEEPEST = 128

--- An element of an XML document, which `parseXML` answers: a name, attributes and children. A child is an XMLElement
--- or a text.
local Element = K.newClass("XMLElement", K.classes.Object)
K.method(Element, "_isXML", true)
K.nilKeys._isXML = true
--- -<String> name
--- -<nothing> setName:<String>name
--- The name of the element, with its prefix as written.
--- > '<note/>' parseXML name ⇒ 'note'
K.ivar(Element, "name")
--- -<Dictionary> attributes
--- -<nothing> setAttributes:<Dictionary>attributes
--- The values of the attributes by their names, in the order of the document.
--- > '<a href="x"/>' parseXML attributes ⇒ #{ href: 'x' }
K.ivar(Element, "attributes")
--- -<Array> children
--- -<nothing> setChildren:<Array>children
--- The elements and texts inside, in order.
--- > '<p>one<b>two</b></p>' parseXML children first ⇒ 'one'
K.ivar(Element, "children")

local function element(name, attributes, children)
  return setmetatable({ i_name = name, i_attributes = attributes, i_children = children }, Element._methods)
end

local function build(list)
  local keys, map, n = {}, {}, 0
  local pairs_ = list[2]
  for i = 1, #pairs_, 2 do
    n = n + 1
    keys[n], map[pairs_[i]] = pairs_[i], pairs_[i + 1]
  end
  local children = {}
  for i = 3, #list do
    local child = list[i]
    children[i - 2] = type(child) == "string" and child or build(child)
  end
  return element(list[1], K.dictionary(keys, map, n), K.array(children))
end

K.methods(K.classes.String, {
  --- String -<XMLElement> parseXML
  --- Answers the root element of an XML document. A document type declaration (DTD) is an `invalid` error, so that no
  --- entity expands; an error names the line. At most 128 levels and 64 MiB.
  --- > '<order id="7"><item>Tea</item></order>' parseXML text: 'item' ⇒ 'Tea'
  ["parseXML"] = function(text) return build(K.native.parseXML(text)) end,
})

local function children(self)
  local list = self.i_children
  return list == nil and {} or K.elementsOf(list, "children")
end

local function named(self, name)
  name = K.expectText(name, "elements:")
  local out, n = {}, 0
  for _, child in ipairs(children(self)) do
    if type(child) == "table" and child._isXML and child.i_name == name then
      n = n + 1
      out[n] = child
    end
  end
  return out
end

local function textInto(parts, self, depth)
  if depth > DEEPEST then throw("tooLarge", "XML elements are nested more than 128 deep") end
  for _, child in ipairs(children(self)) do
    if type(child) == "table" and child._isXML then textInto(parts, child, depth + 1)
    elseif child ~= NULL then parts[#parts + 1] = K.str(child) end
  end
end

local function text(self)
  local parts = {}
  textInto(parts, self, 1)
  return concat(parts)
end

local function escaped(value)
  return (gsub(K.str(value), "[<>&\"\r]", { ["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;", ['"'] = "&quot;", ["\r"] = "&#13;" }))
end

local function expectName(name)
  name = K.str(name)
  if not find(name, "^[%a_\128-\255][%w_.:\128-\255-]*$") then
    throw("invalid", "'" .. name .. "' is not a name in XML")
  end
  return name
end

local function write(parts, self, depth)
  if depth > DEEPEST then throw("tooLarge", "XML elements are nested more than 128 deep") end
  local name = expectName(self.i_name)
  parts[#parts + 1] = "<" .. name
  if self.i_attributes then
    self.i_attributes:keysAndValuesDo_(function(key, value)
      if value ~= nil then parts[#parts + 1] = " " .. expectName(key) .. '="' .. escaped(value) .. '"' end
    end)
  end
  local list = children(self)
  if #list == 0 then
    parts[#parts + 1] = "/>"
    return
  end
  parts[#parts + 1] = ">"
  for _, child in ipairs(list) do
    if type(child) == "table" and child._isXML then write(parts, child, depth + 1)
    elseif child ~= NULL then parts[#parts + 1] = escaped(child) end
  end
  parts[#parts + 1] = "</" .. name .. ">"
end

local function asXML(self)
  local parts = {}
  write(parts, self, 1)
  return K.joinTexts(parts, #parts, "")
end

K.methods(Element, {
  --- -<String?> at:<String>name
  --- The value of an attribute; nil without it.
  --- > '<a href="x"/>' parseXML at: 'href' ⇒ 'x'
  ["at:"] = function(self, name) return self.i_attributes and self.i_attributes:at_(name) end,
  --- -<Array> elements
  --- The children that are elements.
  --- > '<p>one<b>two</b></p>' parseXML elements count ⇒ 1
  ["elements"] = function(self)
    local out = {}
    for _, child in ipairs(children(self)) do
      if type(child) == "table" and child._isXML then out[#out + 1] = child end
    end
    return K.array(out)
  end,
  --- -<Array> elements:<String>name
  --- The children of this name.
  --- > '<o><i>1</i><i>2</i></o>' parseXML elements: 'i' | collect: 'text' ⇒ ['1', '2']
  ["elements:"] = function(self, name) return K.array(named(self, name)) end,
  --- -<XMLElement?> element:<String>name
  --- The first child of this name; nil without one.
  --- > '<o><i>1</i></o>' parseXML element: 'i' | text ⇒ '1'
  ["element:"] = function(self, name) return named(self, name)[1] end,
  --- -<String> text
  --- The texts inside, at any depth, in a row.
  --- > '<p>one <b>two</b></p>' parseXML text ⇒ 'one two'
  ["text"] = text,
  --- -<String?> text:<String>name
  --- The text of the first child of this name; nil without one.
  --- > '<o><i>1</i></o>' parseXML text: 'i' ⇒ '1'
  ["text:"] = function(self, name)
    local child = named(self, name)[1]
    return child and text(child)
  end,
  --- -<String> asXML
  --- The element as XML, with what has a meaning escaped. A name that XML does not allow is an `invalid` error.
  --- > (XMLElement name: 'p' children: ['a < b']) asXML ⇒ '<p>a &lt; b</p>'
  ["asXML"] = asXML,
  --- -<String> description
  --- The element as XML.
  --- > '<a  />' parseXML description ⇒ '<a/>'
  ["description"] = asXML,
})
K.classMethods(Element, {
  --- +<XMLElement> name:<String>name
  --- An element without attributes and children.
  --- > (XMLElement name: 'br') asXML ⇒ '<br/>'
  ["name:"] = function(_, name) return element(name, K.newDictionary(), K.array {}) end,
  --- +<XMLElement> name:<String>name children:<Array>children
  --- An element with children: elements, and texts or other values, whose text is written.
  --- > (XMLElement name: 'n' children: [1]) asXML ⇒ '<n>1</n>'
  ["name:children:"] = function(_, name, list) return element(name, K.newDictionary(), list) end,
  --- +<XMLElement> name:<String>name attributes:<Dictionary>attributes children:<Array>children
  --- An element with attributes and children.
  --- > (XMLElement name: 'a' attributes: #{ href: '/' } children: ['home']) asXML ⇒ '<a href="/">home</a>'
  ["name:attributes:children:"] = function(_, name, attributes, list) return element(name, attributes, list) end,
})

-- Search pages: where people search, and the statistics of what they searched for. The command around
-- the program makes them.
local K = ...
local type, throw, take = type, K.throw, K.optionKinds

-- A text, or an array of texts.
function take.fields(value, name, self)
  if type(value) ~= "table" or K.isClass(value) or not value._isArray then return take.text(value, name, self) end
  local texts = {}
  for i = 1, #value do texts[i] = take.text(value[i], name, self) end
  return K.array(texts, #texts)
end

K.nilKeys._template = true

-- A block that makes an element of a document, as a store: it answers the markup of what is posted.
local Template = K.newClass("SearchResultTemplate", K.classes.Store)
K.methods(Template, {
  ["at:post:"] = function(self, _, document)
    local shown = self._template(document)
    return shown == nil and "" or shown:asHTML()
  end,
})

-- An option, or a connection, gives both the index or page that they belong to.
-- Standard programs draw both pages.
local function over(option, example)
  return function(self)
    local store = self[K.ivarKey(option)] or self.i_source
    if store == nil then
      throw("nilValue", string.format("%s has no `%s`", K.nameOf(self), option), { i_hint = "write " .. example })
    end
    return { store, K.standard("search/search.st"), self._template }, { option, "views", self._template and "result" }
  end
end

local SearchPage = K.nativeCombinator {
  name = "SearchPage", kind = "made:searchPage", super = K.classes.MappingStore,
  parts = over("index", "`#SearchPage{ index: books }`, where `books` is a SearchIndex"),
  options = {
    index = take.store, title = take.text, language = take.text, heading = take.text, subtitle = take.fields,
    text = take.text, link = take.text, labels = take.texts, ids = take.count, log = take.text,
    logFormat = take.text, logBytes = take.count, keep = take.text, name = take.text, statistics = take.flag,
  },
}
K.ivar(SearchPage, "result")
K.methods(SearchPage, {
  -- `result: { :book | #article[ … ] }`: how a document is shown.
  ["setResult:"] = function(self, block)
    if type(block) ~= "function" then
      throw("typeError", "`result` of a SearchPage must be a block with one argument, not " .. K.nameOf(block))
    end
    self.i_result = block
    self._template = Template:new()
    self._template._template = block
    K.combinatorChanged(self)
  end,
})

-- A literal that names its index is opened where it stands, so that it says there what is wrong.
local literal = SearchPage._meta._literal
K.classMethod(SearchPage, "_literal", function(class, keys, values, n)
  local page = literal(class, keys, values, n)
  if page.i_index ~= nil then K.innerStore(page) end
  return page
end)

K.nativeCombinator {
  name = "SearchStatistics", kind = "made:searchStatistics", super = K.classes.MappingStore,
  parts = over("page", "`#SearchStatistics{ page: site }`, where `site` is a SearchPage"),
  options = { page = take.store },
}

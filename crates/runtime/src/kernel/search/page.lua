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
--- A block that shows a document of a search page, as a store.
local Template = K.newClass("SearchResultTemplate", K.classes.Store)
K.methods(Template, {
  --- As in Store.
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

--- SearchPage -<any> index
--- SearchPage -<nothing> setIndex:<any>value
--- The SearchIndex, or the Search over several, that the page searches.
--- > { :page | page index count }

--- SearchPage -<String?> title
--- SearchPage -<nothing> setTitle:<String>value
--- The title of the page; `Search` for nil.
--- > { :page | page title }

--- SearchPage -<String?> language
--- SearchPage -<nothing> setLanguage:<String>value
--- The language of the page: `en` (also for nil) or `de`.
--- > { :page | page language }

--- SearchPage -<String?> heading
--- SearchPage -<nothing> setHeading:<String>value
--- The field for the heading of a result; nil for the first one.
--- > { :page | page heading }

--- SearchPage -<Array|String?> subtitle
--- SearchPage -<nothing> setSubtitle:<Array|String>value
--- The field or fields below the heading; nil for the next three.
--- > { :page | page subtitle }

--- SearchPage -<String?> text
--- SearchPage -<nothing> setText:<String>value
--- The field for an excerpt with the matches; nil for none.
--- > { :page | page text }

--- SearchPage -<String?> link
--- SearchPage -<nothing> setLink:<String>value
--- The target of the heading: a field with a URL, or a URL with fields in braces.
--- > { :page | page link }

--- SearchPage -<Dictionary?> labels
--- SearchPage -<nothing> setLabels:<Dictionary>value
--- The labels of the categories; nil for their names.
--- > { :page | page labels }

--- SearchPage -<Number?> ids
--- SearchPage -<nothing> setIds:<Number>value
--- The results of a page, 1 to 100; 20 for nil.
--- > { :page | page ids }

--- SearchPage -<String?> log
--- SearchPage -<nothing> setLog:<String>value
--- The file of the query log; nil for none.
--- > { :page | page log }

--- SearchPage -<String?> logFormat
--- SearchPage -<nothing> setLogFormat:<String>value
--- The format of the query log: `columns` (also for nil) or `json`.
--- > { :page | page logFormat }

--- SearchPage -<ByteSize|String?> logBytes
--- SearchPage -<nothing> setLogBytes:<ByteSize|String>value
--- The size at which the query log is rotated; 16 MiB for nil.
--- > { :page | page logBytes }

--- SearchPage -<String?> keep
--- SearchPage -<nothing> setKeep:<String>value
--- The file that keeps statistics across restarts; nil for one in the folder of the index.
--- > { :page | page keep }

--- SearchPage -<String?> name
--- SearchPage -<nothing> setName:<String>value
--- A unique name for a page without files; nil for its title.
--- > { :page | page name }

--- SearchPage -<Boolean?> statistics
--- SearchPage -<nothing> setStatistics:<Boolean>value
--- Whether the page serves its statistics at `statistics`; nil for false.
--- > { :page | page statistics }

--- A complete search page over an index: `#SearchPage{ index: books, title: 'Books' }`.
local SearchPage = K.nativeCombinator {
  name = "SearchPage", kind = "made:searchPage", super = K.classes.MappingStore,
  parts = over("index", "`#SearchPage{ index: books }`, where `books` is a SearchIndex"),
  options = {
    index = take.store, title = take.text, language = take.text, heading = take.text, subtitle = take.fields,
    text = take.text, link = take.text, labels = take.texts, ids = take.count, log = take.text,
    logFormat = take.text, logBytes = take.size, keep = take.text, name = take.text, statistics = take.flag,
  },
}
--- SearchPage -<Block(document)?> result
--- The block that shows a document as an element; nil where fields show it.
--- > { :page | page result }
K.ivar(SearchPage, "result")
K.methods(SearchPage, {
  --- SearchPage -<nothing> setResult:<Block(document)>block
  --- Sets the block that shows a document as an element, instead of the fields `heading`, `subtitle` and `text`.
  --- > { :books | #SearchPage{ index: books, result: { :book | #h3[ (book at: 'title') ] } } }
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

--- SearchStatistics -<any> page
--- SearchStatistics -<nothing> setPage:<any>value
--- The search page whose queries are counted.
--- > { :statistics | statistics page }

--- The statistics of a search page: `#SearchStatistics{ page: site }`.
K.nativeCombinator {
  name = "SearchStatistics", kind = "made:searchStatistics", super = K.classes.MappingStore,
  parts = over("page", "`#SearchStatistics{ page: site }`, where `site` is a SearchPage"),
  options = { page = take.store },
}

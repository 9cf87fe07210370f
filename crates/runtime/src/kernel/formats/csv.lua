-- Comma-separated values (RFC 4180): rows from text, files and bodies, and text from rows. The parser is native and
-- takes its input piece by piece, so that a file needs no more memory than a row.
local K = ...
local type, rawget, find, gsub, sub, concat = type, rawget, string.find, string.gsub, string.sub, table.concat
local native, throw, NULL, END = K.native, K.throw, K.NULL, K.lazyEnd
local classes = K.classes

-- Options -------------------------------------------------------------------------------------------

-- The options of a message, with the given ones instead of the defaults; `known` are the names.
function K.formatOptions(given, known, selector)
  local options = {}
  if given == nil then return options end
  if type(given) ~= "table" or not given._isDictionary then
    throw("typeError", selector .. " expects a Dictionary of options, got " .. K.nameOf(given))
  end
  local keys = given:keys()
  for i = 1, #keys do
    local name = K.str(keys[i])
    if not known[name] then
      local names = {}
      for one in pairs(known) do names[#names + 1] = one end
      table.sort(names)
      throw("invalid", selector .. " has no option " .. name, { i_hint = "the options are " .. concat(names, ", ") })
    end
    options[name] = given:at_(keys[i])
  end
  return options
end

local function oneByte(value, default, name)
  if value == nil then return default end
  if type(value) == "string" and #value == 1 and not find(value, "[\r\n\128-\255]") then return value end
  throw("invalid", name .. ": must be one ASCII character, not " .. K.nameOf(value))
end

local function names(list, option)
  if list == nil then return nil end
  local out = {}
  for i, name in ipairs(K.elementsOf(list, option .. ":")) do out[i] = K.str(name) end
  return out
end

-- Cells to values -----------------------------------------------------------------------------------

local function number(text)
  local value = tonumber(text)
  if value and find(text, "^[-+]?[%d.]+[eE]?[-+]?%d*$") then return value end
end
local kinds = {
  text = function(text) return text end,
  number = number,
  int = function(text)
    if find(text, "^[-+]?%d+$") then return text:asInteger() end
  end,
  decimal = function(text) return text:asDecimal() end,
  boolean = function(text)
    local word = string.lower(text)
    if word == "true" or word == "1" or word == "yes" then return true end
    if word == "false" or word == "0" or word == "no" then return false end
  end,
  date = function(text) return text:asDate() end,
  day = function(text) return text:asDay() end,
}
kinds.string = kinds.text

local function converters(types, selector)
  if types == nil then return nil end
  if type(types) ~= "table" or not types._isDictionary then
    throw("typeError", "types: expects a Dictionary from column to type, got " .. K.nameOf(types))
  end
  local list, keys = {}, types:keys()
  for i = 1, #keys do
    local kind = types:at_(keys[i])
    local convert = type(kind) == "function" and kind or kinds[kind]
    if not convert then
      throw("invalid", selector .. " knows no type " .. K.nameOf(kind),
        { i_hint = "the types are text, number, int, decimal, boolean, date, day, or a block" })
    end
    list[K.str(keys[i])] = { convert, type(kind) == "string" and kind or nil }
  end
  return list
end

local function cell(text, converter, name, line)
  if not converter then return text end
  if text == "" and converter[2] ~= "text" and converter[2] then return NULL end
  local value = converter[1](text)
  if value == nil then
    if not converter[2] then return NULL end
    throw("invalid", "CSV, line " .. K.str(line) .. ": " .. name .. " is no " .. converter[2] .. ": '" .. text .. "'")
  end
  return value
end

-- Reading -------------------------------------------------------------------------------------------

local READING = { separator = true, quote = true, header = true, columns = true, types = true }

-- What makes rows of the fields that the parser gives.
local function rowMaker(options, selector)
  local header, types = options.header, converters(options.types, selector)
  local wanted = names(options.columns, "columns")
  local titles = type(header) == "table" and names(header, "header") or nil
  local plain = header == false
  local places -- positions of the wanted columns
  local function begin(fields)
    titles = {}
    for i = 2, #fields do titles[i - 1] = fields[i] end
  end
  local function prepare(line)
    local at = {}
    for i = 1, #titles do
      if at[titles[i]] then
        throw("invalid", "CSV, line " .. K.str(line) .. ": two columns are called " .. titles[i])
      end
      at[titles[i]] = i
    end
    wanted = wanted or titles
    places = {}
    for i = 1, #wanted do
      places[i] = at[wanted[i]]
      if not places[i] then
        throw("invalid", "CSV, line " .. K.str(line) .. ": there is no column " .. wanted[i],
          { i_hint = "the columns are " .. concat(titles, ", ") })
      end
    end
  end
  return function(fields)
    local line = fields[1]
    if plain then
      local row = {}
      for i = 2, #fields do
        local at = K.str(i - 2)
        row[i - 1] = cell(fields[i], types and types[at], "column " .. at, line)
      end
      return K.array(row)
    end
    if not titles then begin(fields) prepare(line) return nil end
    if not places then prepare(line) end
    if #fields - 1 ~= #titles then
      throw("invalid", "CSV, line " .. K.str(line) .. ": " .. (#fields == 2 and "1 field" or K.str(#fields - 1) .. " fields")
        .. ", but " .. (#titles == 1 and "1 column" or K.str(#titles) .. " columns"))
    end
    local keys, map, n = {}, {}, #places
    for i = 1, n do
      local name = wanted[i]
      keys[i], map[name] = name, cell(fields[places[i] + 1], types and types[name], name, line)
    end
    return K.dictionary(keys, map, n)
  end
end

-- A sequence of rows; `open` begins to read and answers a function that answers the next bytes, nil at the end.
local function rowsOf(open, given, selector)
  local options = K.formatOptions(given, READING, selector)
  local separator = oneByte(options.separator, ",", "separator")
  local quote = oneByte(options.quote, '"', "quote")
  if separator == quote then throw("invalid", "separator and quote: must be different characters") end
  rowMaker(options, selector) -- wrong options are reported at once
  return K.lazy(function()
    local reader, make, more = native.csvReader(separator, quote), rowMaker(options, selector), open()
    local rows, at, bytes, from, over = {}, 1, nil, 1, false
    return function()
      while true do
        local fields = rows[at + 1]
        while fields do
          at = at + 1
          local row = make(fields)
          if row then return row end
          fields = rows[at + 1]
        end
        if over then return END end
        if bytes == nil then bytes, from = more(), 1 end
        if bytes == nil then
          rows, at, over = native.csvRows(reader, nil), 1, true
        else
          rows, at = native.csvRows(reader, bytes, from), 1
          from = rows[1]
          if from > #bytes then bytes = nil end
        end
      end
    end
  end)
end

local function ofText(text)
  return function()
    local given = false
    return function()
      if given then return nil end
      given = true
      return text
    end
  end
end

local function ofStream(stream)
  return function()
    local reader = native.streamReader(stream._native)
    return function() return native.streamPiece(reader) end
  end
end

local function parsed(selector)
  return function(self, given)
    local text = type(self) == "string" and self or K.bytesOf(self, selector)
    return K.array(rowsOf(ofText(text), given, selector):_elements())
  end
end
local function lazily(open, selector)
  return function(self, given) return rowsOf(open(self), given, selector) end
end
local function textOf(self) return ofText(type(self) == "string" and self or K.bytesOf(self, "csvRows")) end
-- The pieces of what a reference holds; a value of the program is one piece.
local function contentOf(reference)
  return function()
    if rawget(reference, "_get") or reference._scheme == "var" or reference._scheme == "default" then
      local value = reference:value()
      return ofText(value == nil and "" or K.bytesOf(value, "csvRows"))()
    end
    local at, query = K.splitPath(reference._path)
    local held = native.openContent(K.nativeStore(reference:store()), at, query, reference._scheme)
    if held == nil then throw("notFound", "there is nothing at " .. reference:stringValue()) end
    local reader = native.streamReader(held)
    return function() return native.streamPiece(reader) end
  end
end

local reading = {
  --- String -<Array> parseCSV
  --- Data -<Array> parseCSV
  --- Answers the rows of CSV (RFC 4180) as Dictionaries; the first line names the columns. An error names the line.
  --- > 'name,age\nAnn,31' parseCSV ⇒ [#{ name: 'Ann', age: '31' }]
  ["parseCSV"] = parsed("parseCSV"),
  --- String -<Array> parseCSV:<Dictionary>options
  --- Data -<Array> parseCSV:<Dictionary>options
  --- Like `parseCSV`, with options: `separator`, `quote`, `header` (false: rows are Arrays; an Array: the names),
  --- `columns` to keep, and `types` from column to `number`, `int`, `decimal`, `boolean`, `date`, `day` or a block. An
  --- empty cell of these types is nil.
  --- > 'a;b\n1;x' parseCSV: #{ separator: ';', types: #{ a: 'int' } } ⇒ [#{ a: 1, b: 'x' }]
  --- > 'a,b' parseCSV: #{ header: false } ⇒ [['a', 'b']]
  ["parseCSV:"] = parsed("parseCSV:"),
}
local later = {
  --- String -<LazySequence> csvRows
  --- Data -<LazySequence> csvRows
  --- Answers a lazy sequence of the rows of CSV, which are parsed one by one when they are asked for.
  --- > 'a\n1\n2' csvRows first ⇒ #{ a: '1' }
  ["csvRows"] = lazily(textOf, "csvRows"),
  --- String -<LazySequence> csvRows:<Dictionary>options
  --- Data -<LazySequence> csvRows:<Dictionary>options
  --- Like `csvRows`, with the options of `parseCSV:`.
  --- > 'a\n1' csvRows: #{ types: #{ a: 'int' } } | first ⇒ #{ a: 1 }
  ["csvRows:"] = lazily(textOf, "csvRows:"),
}
for _, class in ipairs { classes.String, classes.Data } do
  K.methods(class, reading)
  K.methods(class, later)
end
K.methods(classes.ContentStream, {
  --- ContentStream -<LazySequence> csvRows
  --- Answers a lazy sequence of the rows of CSV in the content, which needs no more memory than a row. It is read once.
  --- > body:stream csvRows do: { :row | stdout println: row }
  ["csvRows"] = lazily(ofStream, "csvRows"),
  --- ContentStream -<LazySequence> csvRows:<Dictionary>options
  --- Like `csvRows`, with the options of `parseCSV:`.
  --- > body:stream csvRows: #{ separator: ';' } | do: { :row | stdout println: row }
  ["csvRows:"] = lazily(ofStream, "csvRows:"),
})
K.methods(classes.Reference, {
  --- Reference -<LazySequence> csvRows
  --- Answers a lazy sequence of the rows of CSV in the content, which needs no more memory than a row. Each walk reads
  --- the content again.
  --- > ref:file:orders.csv csvRows select: { :row | row at: 'country' | = 'DE' } | first: 10
  ["csvRows"] = lazily(contentOf, "csvRows"),
  --- Reference -<LazySequence> csvRows:<Dictionary>options
  --- Like `csvRows`, with the options of `parseCSV:`.
  --- > ref:file:orders.csv csvRows: #{ types: #{ total: 'decimal' } } | sum: 'total'
  ["csvRows:"] = lazily(contentOf, "csvRows:"),
})

-- Writing -------------------------------------------------------------------------------------------

local WRITING = { separator = true, quote = true, header = true, columns = true, safe = true }

-- `class`: of the rows of a table, whose columns are written unless the options name others.
local function writer(given, selector, class)
  local options = K.formatOptions(given, WRITING, selector)
  local separator = oneByte(options.separator, ",", "separator")
  local quote = oneByte(options.quote, '"', "quote")
  local special = "[%" .. separator .. "%" .. quote .. "\r\n]"
  local safe = options.safe ~= nil and K.truth(options.safe)
  local function field(value)
    if value == nil or value == NULL then return "" end
    local text = type(value) == "string" and value or K.str(value)
    -- A spreadsheet takes such a text for a formula; a number is none.
    if safe and type(value) == "string" and find(text, "^[=+@\t\r-]") then text = "'" .. text end
    if find(text, special) or text == "" and value ~= nil then
      return quote .. gsub(text, "%" .. quote, "%0%0") .. quote
    end
    return text
  end
  local columns = names(options.columns, "columns") or class and K.columnsOfClass(class)
  local function line(fields, n)
    for i = 1, n do fields[i] = field(fields[i]) end
    return concat(fields, separator, 1, n) .. "\r\n"
  end
  local begun = options.header == false
  return function(row)
    if row == nil then throw("typeError", selector .. " expects rows, got nil") end
    local head
    if not begun then
      begun = true
      if not columns and type(row) == "table" and row._isDictionary then
        columns = {}
        for i, key in ipairs(row:keys()) do columns[i] = K.str(key) end
      end
      if columns then
        local titles = {}
        for i = 1, #columns do titles[i] = columns[i] end
        head = line(titles, #titles)
      end
    end
    local fields, n = {}, 0
    if type(row) == "table" and row._isCollection and not row._isDictionary then
      local list = row:_elements()
      n = #list
      for i = 1, n do fields[i] = list[i] end
    else
      if not columns and type(row) == "table" and row._isDictionary then
        columns = {}
        for i, key in ipairs(row:keys()) do columns[i] = K.str(key) end
      end
      if not columns then
        throw("typeError", selector .. " expects rows that are Dictionaries or Arrays, got " .. K.nameOf(row),
          { i_hint = "name the columns of other objects: #{ columns: ['name'] }" })
      end
      n = #columns
      for i = 1, n do
        local value = K.property(row, columns[i])
        if class then value = K.keyOfRow(value) end
        fields[i] = value == nil and NULL or value
      end
    end
    return line(fields, n), head
  end
end

local function lines(self, given, selector, class)
  selector = selector or "csvLines:"
  writer(given, selector, class)
  return K.lazy(function()
    local next_, write = self:lazy()._begin(), writer(given, selector, class)
    local waiting -- the line behind the header
    return function()
      if waiting then
        local text = waiting
        waiting = nil
        return text
      end
      local row = next_()
      if row == END then return END end
      local text, head = write(row)
      if not head then return text end
      waiting = text
      return head
    end
  end)
end

local function asCSV(self, given, class)
  local list = lines(self, given, "asCSV", class):_elements()
  return K.joinTexts(list, #list, "")
end

-- Of rows of a class the columns of its table, and of rows that refer to others their keys.
local function rowsAsCSV(self, given)
  local rows = self._isTable and K.allRows(self) or self
  local query = rows._query
  return asCSV(rows:asArray(), given, not (query and query.fields) and rawget(rows, "_of") or nil)
end

K.methods(classes.Collection, {
  --- -<String> asCSV
  --- Answers the rows as CSV (RFC 4180). Rows are Dictionaries, whose keys in the first row become the header, or
  --- Arrays, without a header. nil is an empty field, an empty text `""`.
  --- > [#{ name: 'Ann', age: 31 }] asCSV ⇒ 'name,age\r\nAnn,31\r\n'
  --- > [['say "hi"', nil]] asCSV ⇒ '"say ""hi""",\r\n'
  ["asCSV"] = asCSV,
  --- -<String> asCSV:<Dictionary>options
  --- Like `asCSV`, with options: `columns` (names of entries or properties, in order), `separator`, `quote`, `header`
  --- (false: none), and `safe: true`, which puts an apostrophe before a text that a spreadsheet would run as a formula
  --- (it begins with = + - @, a tab or a carriage return).
  --- > [['=1+1']] asCSV: #{ safe: true } ⇒ '\'=1+1\r\n'
  --- > [#{ a: 1, b: 2 }] asCSV: #{ columns: ['b'], header: false } ⇒ '2\r\n'
  ["asCSV:"] = asCSV,
  --- -<LazySequence> csvLines
  --- Answers a lazy sequence of the lines of CSV, each with its line break, for output that is larger than memory.
  --- > [#{ a: 1 }, #{ a: 2 }] csvLines asArray ⇒ ['a\r\n', '1\r\n', '2\r\n']
  ["csvLines"] = function(self) return lines(self) end,
  --- -<LazySequence> csvLines:<Dictionary>options
  --- Like `csvLines`, with the options of `asCSV:`.
  --- > [[1, 2]] csvLines: #{ separator: ';' } | first ⇒ '1;2\r\n'
  ["csvLines:"] = function(self, given) return lines(self, given) end,
})

local ofRows = {
  --- DatabaseTable -<String> asCSV
  --- The rows as CSV, as `asCSV` of an array; this reads them. The columns are those of the class.
  --- > books := ref:sqlite:shop.db/books table. books asCSV
  ["asCSV"] = rowsAsCSV,
  --- DatabaseTable -<String> asCSV:<Dictionary>options
  --- Like `asCSV`, with the options of `asCSV:` of an array.
  --- > books := ref:sqlite:shop.db/books table. books asCSV: #{ columns: ['title'], safe: true }
  ["asCSV:"] = rowsAsCSV,
}
K.methods(classes.Rows, ofRows)
K.methods(classes.DatabaseTable, ofRows)

-- Lines -----------------------------------------------------------------------------------------------

-- The longest line that is read, in bytes.
local LONGEST = 67108864 -- 64 MiB

local function linesOf(open)
  return K.lazy(function()
    local more, rest, from, over = open(), "", 1, false
    return function()
      while true do
        local to = find(rest, "\n", from, true)
        if to then
          local line = sub(rest, from, to - 1)
          from = to + 1
          if sub(line, -1) == "\r" then return (sub(line, 1, -2)) end
          return line
        end
        if over then
          if from > #rest then return END end
          local line = sub(rest, from)
          from = #rest + 1
          return line
        end
        local parts, size = { sub(rest, from) }, #rest - from + 1
        rest, from = "", 1
        repeat
          local piece = more()
          if piece == nil then over = true break end
          parts[#parts + 1], size = piece, size + #piece
          if size > LONGEST then throw("tooLarge", "a line has at most 64 MiB") end
        until find(piece, "\n", 1, true)
        rest = concat(parts)
      end
    end
  end)
end

K.methods(classes.Reference, {
  --- Reference -<LazySequence> lazyLines
  --- Answers a lazy sequence of the lines of the content, which needs no more memory than a line. `lines` reads all.
  --- > ref:file:app.log lazyLines select: { :line | line contains: 'ERROR' } | first: 10
  ["lazyLines"] = function(self) return linesOf(contentOf(self)) end,
})
K.methods(classes.ContentStream, {
  --- ContentStream -<LazySequence> lazyLines
  --- Answers a lazy sequence of the lines of the content, while it arrives. It is read once.
  --- > body:stream lazyLines do: { :line | stdout println: line }
  ["lazyLines"] = function(self) return linesOf(ofStream(self)) end,
})

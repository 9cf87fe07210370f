-- Objects, time, JSON and streams of the kernel, asked directly. Gets the kernel table; raises at
-- the first surprise.
local K = ...
local G = K.classes

local function check(got, expected, what)
  if not rawequal(got, expected) then
    error(string.format("%s: expected %s but got %s", what or "?", K.repr(expected), K.repr(got)),
      2)
  end
end

-- Compares by the text of the value.
local function reads(value, expected, what) check(K.str(value), expected, what) end

-- The kind of error that a function raises.
local function raises(kind, body, part)
  local ok, err = pcall(body)
  if ok then error("expected an error of kind " .. kind, 2) end
  if type(err) ~= "table" or err.i_kind ~= kind then
    error("expected an error of kind " .. kind .. ", got " .. tostring(type(err) == "table" and
      (tostring(err.i_kind) .. ": " .. tostring(err.i_message)) or err), 2)
  end
  if part and not string.find(err.i_message, part, 1, true) then
    error("the message lacks '" .. part .. "': " .. err.i_message, 2)
  end
  return err
end

local A, D = K.array, function(...)
  local dictionary, list = K.newDictionary(), { ... }
  for i = 1, #list, 2 do dictionary:at_put_(list[i], list[i + 1]) end
  return dictionary
end
local function send(receiver, selector, ...) return receiver[K.mangle(selector)](receiver, ...) end

-- Objects ---------------------------------------------------------------------------------------

local Task = K.newClass("ValuesTask", G.Object)
K.ivar(Task, "title", "string")
K.ivar(Task, "done", "bool")
do
  local task = K.object(Task, { "title", "done" }, { "x", false }, 2)
  check(task:title(), "x")
  check(task:done(), false)
  reads(task, "a ValuesTask")
  check(K.property(task, "title"), "x")
  K.setProperty(task, "title", "y")
  check(task:title(), "y")
  check(send(task, "className"), "ValuesTask")
  check(send(G.String, "className"), "NSString")
  check(send(task, "isKindOf:", G.Object), true)
  check(send(task, "respondsTo:", "title"), true)
  check(send(task, "respondsTo:", "zork"), false)
  local err = raises("doesNotUnderstand", function() return send(task, "titel") end,
    "a ValuesTask does not understand titel")
  check(err.i_hint, "did you mean title?")
  err = raises("unknownProperty", function() return K.object(Task, { "titel" }, { 1 }, 1) end)
  check(err.i_hint, "did you mean title?")
  raises("nilValue", function() return K.object(Task, { "title" }, { nil }, 1) end, "title")
  raises("doesNotUnderstand", function() return send(Task, "zork") end, "the class ValuesTask")
  check(K.eq(task, task), true)
  check(K.eq(task, send(task, "copy")), false)
  check(send(send(task, "copy"), "title"), "y")
  reads(send(Task, "instanceVariables"), "[title,done]")
  check(K.propertyPath(D("a", D("b", task)), "a.b.title"), "y")
end
check(K.add(K.object(G.MPWInteger, { "intValue" }, { 3 }, 1), K.object(G.MPWInteger,
  { "intValue" }, { 7 }, 1)), 10)
reads(K.literalArray(G.NSSet, A { 1, 1, 2 }, 3), "[1,2]")
reads(K.literalArray(G.NSMutableArray, A {}, 0), "[]")
check(send(K.literalArray(G.NSMutableArray, A {}, 0), "className"), "NSMutableArray")

-- Mutable text, data, time ----------------------------------------------------------------------

do
  local text = send(G.NSMutableString, "string")
  text:appendString_("hello"):append_(3)
  reads(text, "hello3")
  check(K.eq(text, "hello3"), true)
  check(K.eq("hello3", text), true)
  check(K.ne("hello3", text), false)
  check(send(text, "length"), 6)
  check(send(text, "uppercase"), "HELLO3")
  text:insertString_atIndex_("!", 0)
  text:deleteCharactersInRange_(K.interval(1, 2, 1))
  check(send(text, "stringValue"), "!llo3")
  check(D(text, 1):at_("!llo3"), 1)
  check(K.concat(text, "x"), "!llo3x")
  check(send(send(text, "class"), "name"), "MutableString")
  check(send(text, "isKindOf:", G.String), true)
  check(send(text, "respondsTo:", "appendString:"), true)
  raises("doesNotUnderstand", function() return send(text, "zork") end, "a MutableString")
end
check(send(send("hello", "asData"), "length"), 5)
check(send(K.data("\255\254"), "description"), "Data of 2 bytes")
raises("invalid", function() return send(K.data("\255"), "stringValue") end)
for text, expected in pairs { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v",
  foob = "Zm9vYg==" } do
  check(send(text, "base64"), expected)
  check(send(send(expected, "base64Decoded"), "stringValue"), text)
end
check(send("hi", "hex"), "6869")
check(K.eq(K.data("a"), K.data("a")), true)

reads(send(5, "seconds"), "5 s")
reads(send(90, "seconds"), "1 min 30 s")
reads(send(800, "milliseconds"), "800 ms")
reads(send(1.5, "hours"), "1 h 30 min")
reads(K.add(send(1, "minute"), send(5, "seconds")), "1 min 5 s")
check(K.lt(send(5, "seconds"), send(1, "minute")), true)
check(K.div(send(1, "minute"), send(5, "seconds")), 12)
reads(K.mul(2, send(5, "seconds")), "10 s")
reads(send(A { send(1, "minute"), send(5, "seconds") }, "sum"), "1 min 5 s")
raises("typeError", function() return K.add(send(5, "seconds"), 3) end)
reads(K.date(0), "1970-01-01T00:00:00Z")
reads(K.date(1700000000.5), "2023-11-14T22:13:20.500Z")
reads(K.date(-1), "1969-12-31T23:59:59Z")
for _, text in ipairs {
  "2000-02-29T12:00:00Z", "1900-03-01T00:00:00Z", "2024-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
} do
  reads(K.parseDate(text), text)
end
reads(send("2026-01-31T12:00:00+02:00", "asDate"), "2026-01-31T10:00:00Z")
reads(send("2026-01-31", "asDate"), "2026-01-31T00:00:00Z")
check(send("2026-02-30", "asDate"), nil)
check(send("tomorrow", "asDate"), nil)
do
  local date = send("2026-11-21T03:04:05Z", "asDate")
  check(date:year(), 2026)
  check(date:month(), 11)
  check(date:day(), 21)
  check(date:second(), 5)
  check(date:weekdayName(), "Saturday")
  check(date:dayOfYear(), 325)
  reads(K.add(date, send(1, "day")), "2026-11-22T03:04:05Z")
  reads(K.sub(K.add(date, send(1, "day")), date), "1 d")
  check(date:format_("%d.%m.%Y %a"), "21.11.2026 Sat")
  check(K.eq(date, send("2026-11-21T04:04:05+01:00", "asDate")), true)
end

-- JSON ------------------------------------------------------------------------------------------

check(K.json(D("a", 42)), '{"a":42}')
check(K.json(A { 1, 2, "x", K.NULL, true, 1.5 }), '[1,2,"x",null,true,1.5]')
check(K.json('a"b\\c\n\1é'), '"a\\"b\\\\c\\n\\u0001é"')
check(K.json(1 / 0), "null")
check(K.json(nil), "null")
check(K.json(K.integerFromText("123456789012345678901")), "123456789012345678901")
check(K.json(K.date(0)), '"1970-01-01T00:00:00Z"')
check(K.json(K.point(1, 2)), '{"x":1,"y":2}')
check(K.json(K.interval(1, 3, 1)), "[1,2,3]")
check(K.json(K.object(Task, { "title", "done" }, { "x", false }, 2)), '{"title":"x","done":false}')
check(K.json(Task:new()), '{"title":null,"done":null}')
check(send(A { 1, A {}, D("a", D()) }, "asPrettyJSON"), '[\n  1,\n  [],\n  {\n    "a": {}\n  }\n]')
check(send(D("a,[b", '"{'), "asPrettyJSON"), '{\n  "a,[b": "\\"{"\n}')
do
  local cycle = A {}
  cycle:add_(cycle)
  raises("invalid", function() return K.json(cycle) end)
  raises("typeError", function() return K.json(print) end)
end
reads(K.parseJSON(' {"a" : [1, 2.5e1, "x\\u00e9\\n", null, true], "b": {}} '),
  "{a:[1,25,xé\n,nil,true],b:{}}")
check(K.parseJSON('"\\ud83d\\ude00"'), "😀")
check(K.parseJSON('"\\\\u0041\\\\n"'), "\\u0041\\n")
raises("invalid", function() return K.parseJSON('"\\ud800x"') end)
raises("invalid", function() return K.parseJSON("1e400") end)
check(K.parseJSON("null"), nil)
check(K.parseJSON("-0.5"), -0.5)
reads(K.parseJSON("123456789012345678901"), "123456789012345678901")
reads(K.parseJSON('{"a":1,"a":2}'), "{a:2}")
for _, text in ipairs {
  "", "[", "[1,]", "{", '{"a"}', '{"a":}', "{a:1}", "01", "1.", "-", "nul", '"', '"\\x"',
  '"\\u12"', '"\n"', "[1]x", "+1",
} do
  raises("invalid", function() return K.parseJSON(text) end)
end
raises("invalid", function() return K.parseJSON('{\n  "a": x}') end, "line 2, column 8")
raises("invalid", function() return K.parseJSON(string.rep("[", 200)) end)
check(K.json(K.parseJSON('{"a":[1,null,{"b":"c"}]}')), '{"a":[1,null,{"b":"c"}]}')
do
  local task = send(Task, "fromJSON:", '{"title":"x","other":1}')
  check(task:title(), "x")
  check(#send(Task, "fromJSON:", '[{"title":"x"},{"title":"y"}]'), 2)
end

-- Streams ---------------------------------------------------------------------------------------

local Upper = K.newClass("ValuesUpper", G.Filter)
K.method(Upper, "writeObject_", function(self, object) self:forward_(object:uppercase()) end)
check(K.at(send(Upper, "process:", "abc"), 0), "ABC")
do
  local stream = send(Upper, "stream")
  stream:writeObject_("a")
  stream:forward_(nil)
  reads(stream:target(), "[A]")
  local other = send(Upper, "new")
  other:setTarget_(stream)
  reads(other:finalTarget(), "[A]")
  local sink = A {}
  other:setFinalTarget_(sink)
  other:writeAll_(A { "x", K.NULL, "y" })
  reads(sink, "[X,Y]")
  other:insertStream_(K.mapFilter(function(text) return text .. "!" end))
  other:writeObject_("z")
  reads(sink, "[X,Y,Z!]")
end
do
  local writer = send(G.MPWJSONWriter, "stream")
  writer:writeObject_(D("a", 42))
  check(send(writer:target(), "stringValue"), '{"a":42}')
  writer:writeObject_(1)
  check(send(writer, "stringValue"), '{"a":42}\n1')
end
do
  local out = send(G.ByteStream, "stream")
  out:print_(1)
  out:println_("x")
  out:printFormat_with_("%d!", 3)
  reads(out:target(), "1x\n3!")
  local lines = send(G.PrintLiner, "new")
  local text = send(G.ByteStream, "new")
  lines:setTarget_(text)
  lines:writeObject_(1)
  lines:writeObject_(A { 2 })
  reads(text:target(), "1\n[2]\n")
end
do
  local split = send(G.BytesToLines, "stream")
  for _, piece in ipairs { "a\nb", "c\r\n", "\nd" } do split:writeObject_(piece) end
  split:close()
  reads(split:target(), "[a,bc,,d]")
  local skip = send(G.SkipFilter, "skip:", 2)
  skip:writeAll_(A { 1, 2, 3, 4 })
  reads(skip:target(), "[3,4]")
  reads(send(G.FlattenStream, "process:", A { 1, A { 2, A { 3 } } }), "[1,2,3]")
  local both = send(G.CombinerStream, "count:", 2)
  local inputs = both:inputs()
  K.at(inputs, 0):writeObject_("a")
  K.at(inputs, 1):writeObject_("b")
  K.at(inputs, 0):writeObject_("c")
  reads(both:target(), "[[a,b],[c,b]]")
  local queue = send(G.Queue, "capacity:", 2)
  queue:setUnique_(true)
  queue:writeAll_(A { 1, 1, 2 })
  check(queue:count(), 2)
  raises("tooLarge", function() queue:writeObject_(3) end)
  queue:flush()
  reads(queue:target(), "[1,2]")
  queue:writeObject_(1)
  check(queue:nextObject(), 1)
  check(queue:nextObject(), nil)
end
do
  local pipe = send(G.MPWPipeline, "filters:", A {
    Upper, "-length", function(n) return n + 1 end, "%03d",
  })
  pipe:writeObject_("abc")
  reads(pipe:target(), "[004]")
  reads(pipe:finalTarget(), "[004]")
  local fan = K.literalArray(G.MPWPipeline, A { "[name]", A { "-uppercase", "-length" } }, 2)
  fan:writeObject_(D("name", "ann"))
  reads(fan:target(), "[ANN,3]")
  local into = A {}
  fan:setTarget_(into)
  fan:writeObject_(D("name", "bo"))
  reads(into, "[BO,2]")
  local path = send(G.MPWPipeline, "filters:", A { "a/b" })
  path:writeObject_(D("a", D("b", 7)))
  reads(path:target(), "[7]")
  local source = send(G.FixedValueSource, "values:", A { 1, 2 })
  reads(source:run(), "[1,2]")
end

-- Literals take the short way only while nothing but storing is asked for.
do
  local Plain = K.newClass("ValuesPlain", G.Object)
  K.ivar(Plain, "count")
  K.ivar(Plain, "name")
  local function make() return K.object(Plain, { "count", "name" }, { 1, "x" }, 2) end
  check(make():count(), 1)
  raises("nilValue", function() return K.object(Plain, { "count" }, { nil }, 1) end, "count")
  local function spread() return K.make(Plain, "count,name,")(1, "x") end
  check(spread():count(), 1)
  check(K.make(Plain, "")():count(), nil)
  raises("nilValue", function() return K.make(Plain, "count,")(nil) end, "count")
  raises("unknownProperty", function() return K.make(Plain, "extra,")(1) end)
  raises("typeError", function() return K.make(3, "count,")(1) end)
  K.method(Plain, K.mangle("setName:"), function(self, value) self.i_name = value .. "!" end)
  check(make():name(), "x!")
  check(spread():name(), "x!")
  K.method(Plain, "init", function(self)
    self.i_count = 5
    return self
  end)
  check(K.object(Plain, { "name" }, { "x" }, 1):count(), 5)
  local Below = K.newClass("ValuesBelow", Plain)
  K.ivar(Below, "extra")
  check(K.object(Below, { "extra", "name" }, { 1, "y" }, 2):name(), "y!")
  raises("unknownProperty", function() return K.object(Below, { "extra", 3 }, { 1, "y" }, 2) end)
  local filled = K.fromDictionary(Task, D("title", "t", "done", K.NULL))
  check(filled:title(), "t")
  check(filled:done(), nil)
end

-- Objects that write themselves.
do
  local Own = K.newClass("ValuesOwn", G.Object)
  K.ivar(Own, "id")
  K.method(Own, K.mangle("writeOnJSONStream:"), function(self, stream)
    stream:writeDictionaryLikeObject_withContentBlock_(self, function(writer)
      writer:writeInteger_forKey_(self.i_id, "number")
      writer:writeObject_forKey_(A { 1, "x" }, "list")
    end)
  end)
  K.method(Own, K.mangle("writeOnByteStream:"), function(self, stream)
    stream:print_("own ")
    stream:print_(self.i_id)
  end)
  local own = Own:new()
  own:setId_(7)
  local writer = send(G.JSONWriter, "stream")
  own:writeOnJSONStream_(writer)
  check(writer:stringValue(), '{"number":7,"list":[1,"x"]}')
  local out = send(G.ByteStream, "stream")
  out:println_(own)
  reads(out:target(), "own 7\n")
end

-- What is wrong is said in words, whatever it is.
raises("typeError", function() return send(A { 1 }, "inject:into:", 0, 3) end, "expects a block")
raises("typeError", function() return send(A { 1 }, "first:", nil) end, "whole number")
raises("typeError", function() return send(3, "perform:", nil) end)

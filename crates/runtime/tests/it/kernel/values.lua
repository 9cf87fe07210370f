-- The built-in classes of values, asked directly: numbers, text, blocks, collections. Gets the
-- kernel table; raises at the first surprise.
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

-- Numbers ---------------------------------------------------------------------------------------

reads(3 + 4, "7")
reads(0.1 + 0.2, "0.30000000000000004")
reads(1e20, "1e20")
reads(1e-7, "1e-7")
reads(1e15, "1000000000000000")
reads(-0.0, "0")
reads(math.pi * 2, "6.283185307179586")
reads(K.div(7, 2), "3.5")
check(send(7, "div:", 2), 3)
check(send(-7, "div:", 2), -4)
check(send(-7, "mod:", 3), 2)
check(send(9007199254740991, "mod:", 10), 1)
check(send(9007199254740991, "div:", 2), 4503599627370495)
check(K.add(1, true), 2)
check(K.add(1, nil), 1)
check(K.add(true, 1), 2)
check(K.add(nil, 1), nil)
raises("typeError", function() return K.add(3, "x") end, "a Number (3) cannot add a String ('x')")
raises("typeError", function() return K.add("3", 4) end)
raises("divisionByZero", function() return K.div(1, 0) end)
raises("divisionByZero", function() return send(1, "mod:", 0) end)
raises("divisionByZero", function() return send(1, "div:", 0) end)
check(send(2.5, "rounded"), 3)
check(send(-2.5, "rounded"), -3)
check(send(0.49999999999999994, "rounded"), 0)
check(send(7.9, "intValue"), 7)
check(send(-7.9, "intValue"), -7)
check(send(3.14159, "roundTo:", 0.01), 3.14)
check(send(3.14159, "fixed:", 2), "3.14")
check(send(255, "printString:", 16), "ff")
check(send(-5, "printString:", 2), "-101")
check(send(7, "padded:", 3), "007")
check(send(12, "gcd:", 18), 6)
check(send(4, "lcm:", 6), 12)
check(send(10, "factorial"), 3628800)
check(send(5, "between:and:", 1, 5), true)
check(send(12, "bitAnd:", 10), 8)
check(send(2 ^ 40 + 5, "bitAnd:", 2 ^ 40 + 4), 2 ^ 40 + 4)
check(send(-1, "bitAnd:", 2 ^ 40 + 4), 2 ^ 40 + 4)
check(send(1, "bitShift:", 10), 1024)
check(send(1024, "bitShift:", -3), 128)
check(send(2, "pow:", 10), 1024)
check(send(2, "pow:", 0.5), math.sqrt(2))
check(send(3, "max:", 4), 4)
check(send(0, "not"), true)
check(send(3, "ifTrue:ifFalse:", function() return 1 end, function() return 2 end), 1)
check(send(0, "ifTrue:", 1), nil)
check(send(3, "and:", function() return 4 end), 4)
check(send(false, "or:", false), false)
check(send(true, "xor:", true), false)
raises("doesNotUnderstand", function() return send("x", "ifTrue:", 1) end)
check(send(65, "asCharacter"), "A")
check(send(233, "asCharacter"), "é")
check(send(0x1F600, "asCharacter"), "😀")
check(send(3, "compare:", 4), -1)
check(K.eq(3, "3"), false)
check(send(3, "concat:", " apples"), "3 apples")
do
  local seen = 0
  send(3, "repeat:", function() seen = seen + 1 end)
  send(1, "to:by:do:", 10, 3, function(i) seen = seen + i end)
  check(seen, 3 + 1 + 4 + 7 + 10)
end

-- Big integers ----------------------------------------------------------------------------------

reads(K.add(9007199254740991, 1), "9007199254740992")
reads(K.add(9007199254740991, 2), "9007199254740993")
reads(K.add(9007199254740992, 1), "9007199254740993")
check(K.add(9007199254740991, 1), 9007199254740992)
check(K.integerFromText("-9007199254740992"), -9007199254740992)
reads(K.integerFromText("9007199254740993"), "9007199254740993")
check(K.sub(K.add(9007199254740991, 2), 2), 9007199254740991)
reads(K.mul(9007199254740991, 9007199254740991), "81129638414606663681390495662081")
reads(K.integerFromText("123456789012345678901234567890"), "123456789012345678901234567890")
check(K.integerFromText("-42"), -42)
check(K.integerFromText("+42"), 42)
reads(send(2, "raisedTo:", 100), "1267650600228229401496703205376")
reads(send(25, "factorial"), "15511210043330985984000000")
do
  local big = send(2, "raisedTo:", 70)
  check(K.eq(big, send(2, "raisedTo:", 70)), true)
  check(K.eq(big, 2 ^ 70), true)
  check(K.eq(2 ^ 70, big), true)
  check(K.lt(big, 2 ^ 71), true)
  check(K.lt(3, big), true)
  check(K.gt(3, big), false)
  check(K.div(big, send(2, "raisedTo:", 69)), 2)
  check(K.div(big, 3), 2 ^ 70 / 3)
  reads(K.mul(big, 0.5), K.str(2 ^ 69))
  check(send(big, "mod:", 1000), 424)
  check(send(big, "div:", 1180591620717411303), 1000)
  reads(K.sub(0, big), "-1180591620717411303424")
  reads(K.add(1, big), "1180591620717411303425")
  check(K.eq(send(big, "negated"), K.sub(0, big)), true)
  check(K.truth(big), true)
  check(D(big, "x"):at_(send(2, "raisedTo:", 70)), "x")
  raises("divisionByZero", function() return K.div(big, 0) end)
  raises("typeError", function() return K.add(big, "x") end)
  reads(send(big, "gcd:", 1024), "1024")
end

-- Text ------------------------------------------------------------------------------------------

check(send("héllo", "length"), 5)
check(send("héllo", "at:", 1), "é")
check(send("hello", "at:", 1), "e")
raises("outOfRange", function() return send("abc", "at:", 3) end, "index 3 is outside 0..2")
check(send("héllo", "reversed"), "olléh")
check(send("héllo", "substringFromIndex:", 2), "llo")
check(send("héllo", "substringToIndex:", 2), "hé")
check(send("héllo wörld", "indexOf:", "wö"), 6)
check(send("hello", "from:to:", 1, 3), "ell")
check(send("héllo", "uppercase"), "HÉLLO")
check(send("hello big world", "capitalizedString"), "Hello Big World")
reads(send("a,b,,c", "componentsSeparatedByString:", ","), "[a,b,,c]")
reads(send("one\ntwo\r\nthree\n", "lines"), "[one,two,three]")
reads(send("  a  b ", "words"), "[a,b]")
check(send("a-b-c", "stringByReplacingOccurrencesOfString:withString:", "-", "+"), "a+b+c")
check(send("a.b", "replace:with:", ".", "%1"), "a%1b")
check(send("  x ", "trimmed"), "x")
check(send("12abc", "intValue"), 12)
check(send("abc", "intValue"), 0)
check(send("-3.5e2x", "floatValue"), -350)
check(send("12abc", "asNumber"), nil)
check(send("12.5", "asNumber"), 12.5)
check(send("0x10", "asNumber"), nil)
reads(send("12345678901234567890", "asNumber"), "12345678901234567890")
check(send("a", "concat:", 3), "a3")
check(send("ab", "hasPrefix:", "a"), true)
check(send("ab", "hasSuffix:", ""), true)
check(send("%d of %@: %5.2f|%-5s|%05d%%", "format:", A { 3, "x", 2.5, "ab", 42 }),
  "3 of x:  2.50|ab   |00042%")
raises("outOfRange", function() return send("%d %d", "format:", A { 1 }) end)
check(send("/a/b/c.txt", "lastPathComponent"), "c.txt")
check(send("/a/b/c.txt", "pathExtension"), "txt")
check(send("/a/b/c.txt", "stringByDeletingPathExtension"), "/a/b/c")
check(send("/a/b/c.txt", "deletingLastPathComponent"), "/a/b")
check(send("/a/", "stringByAppendingPathComponent:", "b"), "/a/b")
check(send("a b&c/é", "urlEncoded"), "a%20b%26c%2F%C3%A9")
check(send("a%20b+c", "urlDecoded"), "a b c")
check(send("a", "compare:", "b"), -1)
check(K.lt("a", "b"), true)
raises("typeError", function() return K.lt("a", 3) end)
check(send("ab", "repeated:", 3), "ababab")
check(send("7", "padLeft:with:", 3, "0"), "007")
check(send("é", "isLetter"), true)
check(send("abc", "isNil"), false)
reads(send("abc", "collect"):uppercase(), "[A,B,C]")
check(send("hello", "perform:", "uppercase"), "HELLO")
reads(send("héy", "collect:", function(c) return c .. c end), "[hh,éé,yy]")
check(send("hello", "select:", function(c) return c ~= "l" end), "heo")
check(send("hello", "occurrencesOf:", "l"), 2)
check(send("hello", "inject:into:", 0, function(n) return n + 1 end), 5)
check(send("it's", "printString"), "'it''s'")
check(send("abc", "substringWithRange:", K.interval(1, 2, 1)), "bc")

-- Blocks and nil --------------------------------------------------------------------------------

check(send(function(x) return x end, "value:", 2), 2)
check(send(function(a, b) return a - b end, "valueWithObjects:", A { 7, 2 }), 5)
check(send(function(a, b) return a - b end, "numArgs"), 2)
check(send(nil, "foo"), nil)
check(send(nil, "isNil"), true)
check(send(nil, "ifNil:", 3), 3)
check(send(3, "ifNotNil:", function(x) return x + 1 end), 4)
check(send("done", "if:", true), "done")
check(send("done", "if:", false), nil)
raises("expectation", function() return send(3, "should:", 4) end, "expected 4 but got 3")
raises("expectation", function() return send(nil, "should:", 4) end)
check(send(3, "should:", 3), 3)

-- Arrays ----------------------------------------------------------------------------------------

local abc = A { "a", "b", "c" }
reads(A { 1, 6, 2, "hello" }, "[1,6,2,hello]")
check(send(A { 1, "a" }, "printString"), "[1,'a']")
check(K.at(abc, 1), "b")
raises("outOfRange", function() return K.at(abc, 5) end, "index 5 is outside 0..2")
raises("outOfRange", function() return K.at(abc, -1) end)
raises("outOfRange", function() return K.at(A {}, 0) end, "an empty Array")
reads(K.array({ 1, nil, 3 }, 3), "[1,nil,3]")
check(K.atPut(A { 1 }, 0, nil), nil)
reads(send(A { 1, 2 }, "concat:", 3), "[1,2,3]")
do
  local one = A { 1 }
  reads(K.add(one, A { 2 }), "[1,2]")
  reads(one, "[1]")
  raises("typeError", function() return K.add(one, 2) end, "an Array cannot add a Number (2)")
end
reads(send(A { 1, 2 }, "concat:", A { 3 }), "[1,2,[3]]")
do
  local list = send(A { 1, 2 }, "mutableCopy")
  -- The comma makes a copy, as that of every Array.
  reads(K.concat(list, 3), "[1,2,3]")
  reads(list, "[1,2]")
  list:add_(3)
  check(send(send(list, "class"), "name"), "MutableArray")
  list:add_(nil)
  check(K.at(list, 3), nil)
  check(send(list, "count"), 4)
  reads(list, "[1,2,3,nil]")
  list:removeObject_(nil)
  reads(list, "[1,2,3]")
  list:insertObject_atIndex_(0, 0)
  check(list:removeLast(), 3)
  check(list:removeAt_(0), 0)
  reads(list, "[1,2]")
end
reads(send(abc, "subarrayWithRange:", K.interval(1, 2, 1)), "[b,c]")
reads(send(A { 1, 2, 3 }, "collect:", function(x) return x * 2 end), "[2,4,6]")
reads(send(A { 1, 2, 3, 4 }, "select:", function(x) return x > 2 end), "[3,4]")
reads(send(A { 1, 2, 3, 4 }, "reject:", function(x) return x > 2 end), "[1,2]")
check(send(A { 1, 2, 3 }, "detect:", function(x) return x > 1 end), 2)
check(send(A { 1, 2, 3 }, "detect:ifNone:", function(x) return x > 5 end, "none"), "none")
check(send(A { 1, 2, 3 }, "inject:into:", 0, K.add), 6)
check(send(A { 1, 2, 3 }, "sum"), 6)
check(send(A { 1, 5, 3 }, "max"), 5)
check(send(A { "aaa", "b" }, "max:", function(x) return #x end), "aaa")
check(send(A {}, "max"), nil)
check(send(A { 1, 2 }, "average"), 1.5)
check(send(abc, "join:", ", "), "a, b, c")
check(send(abc, "indexOf:", "c"), 2)
check(send(abc, "indexOf:", "z"), nil)
check(send(A { A { 1 } }, "includes:", A { 1 }), true)
reads(send(A { 3, 1, 2 }, "sorted"), "[1,2,3]")
reads(send(A { "b", "a" }, "sorted"), "[a,b]")
reads(send(A { 3, 1, 2 }, "sorted:", function(a, b) return a > b end), "[3,2,1]")
reads(send(A { "ccc", "a", "bb" }, "sorted:", function(x) return #x end), "[a,bb,ccc]")
reads(send(A { D("n", 2), D("n", 1) }, "sorted:", "n"), "[{n:1},{n:2}]")
reads(send(A { D("n", 1), D("n", 2) }, "sorted:", "-n"), "[{n:2},{n:1}]")
reads(send(A { D("n", 1), D("n", 2) }, "collect:", "n"), "[1,2]")
do -- stable, for `<` and `<=`, longer than a run
  local list, n = {}, 1000
  for i = 1, n do list[i] = A { (i * 7919) % 13, i } end
  for _, before in ipairs {
    function(a, b) return a[1] < b[1] end, function(a, b) return a[1] <= b[1] end,
  } do
    local sorted = send(A(list), "sorted:", before)
    check(#sorted, n)
    for i = 2, n do
      local p, q = sorted[i - 1], sorted[i]
      if not (p[1] < q[1] or p[1] == q[1] and p[2] < q[2]) then error("not stable at " .. i) end
    end
  end
end
reads(send(A { 1, A { 2, A { 3 } } }, "flatten"), "[1,2,3]")
reads(send(A { 1, 2 }, "zip:", A { 3, 4 }), "[[1,3],[2,4]]")
reads(send(A { 1, 2, 3 }, "groupBy:", function(x) return x % 2 end), "{1:[1,3],0:[2]}")
reads(send(A { 1, 2, 1, A { 1 }, A { 1 } }, "uniq"), "[1,2,[1]]")
reads(send(A { 1, 2, 3 }, "partition:", function(x) return x > 1 end), "[[2,3],[1]]")
reads(send(A { 1, 2, 3 }, "first:", 2), "[1,2]")
reads(send(A { 1, 2, 3 }, "last:", 10), "[1,2,3]")
reads(send(A { 1, 2, 3 }, "reversed"), "[3,2,1]")
reads(send(send(A { 1, 2, 3 }, "reverseObjectEnumerator"), "allObjects"), "[3,2,1]")
reads(send(A { A { "a", 1 } }, "asDictionary"), "{a:1}")
check(K.eq(A { 1, A { 2 } }, A { 1, A { 2 } }), true)
check(K.eq(A { 1 }, A { 2 }), false)
check(send(A { 1, 2 }, "isEqual:", 3), false)
do
  local cycle = A { 1 }
  cycle:add_(cycle)
  reads(cycle, "[1,…]")
end
reads(K.query(A { 1, 2, 3 }, function(x) return x > 1 end), "[2,3]")
reads(send(A { 1, 2, 3, 4, 5 }, "inGroupsOf:", 2), "[[1,2],[3,4],[5]]")
check(send(A { 1, 2 }, "anySatisfy:", function(x) return x > 1 end), true)
check(send(A { 1, 2 }, "allSatisfy:", function(x) return x > 1 end), false)
reads(send(G.MutableArray, "array"), "[]")
reads(K.at(A { 1, 2, 3 }, K.interval(0, 1, 1)), "[1,2]")
raises("typeError", function() return send(abc, "collect:", 3) end, "expects a block")

-- Dictionaries ----------------------------------------------------------------------------------

local d = K.dictionary({ "a", "b" }, { a = 1, b = A { 1, 2 } }, 2)
reads(d, "{a:1,b:[1,2]}")
reads(K.literalDictionary({ "a", "b" }, { 1, nil }, 2), "{a:1,b:nil}")
reads(K.dictionary({ "a", "b" }, { a = 1 }, 2), "{a:1,b:nil}")
reads(K.literalDictionary({ "a", "b", "a" }, { 1, 2, 3 }, 3), "{a:3,b:2}")
check(K.at(d, "a"), 1)
check(K.at(d, "z"), nil)
check(send(d, "at:ifAbsent:", "z", 5), 5)
check(send(d, "count"), 2)
reads(send(d, "keys"), "[a,b]")
raises("doesNotUnderstand", function() return send(d, "a") end)
check(K.property(d, "a"), 1)
check(K.property(d, "count"), nil)
check(D(1, "value"):objectForKey_(1), "value")
do
  local t = K.newDictionary()
  for i = 1, 100 do t:at_put_(i, i * 2) end
  for i = 1, 100, 2 do t:removeKey_(i) end
  check(t:count(), 50)
  t:at_put_(1, "new")
  check(t:keys():last(), 1)
  check(t:keys():first(), 2)
  t:at_put_(1, nil)
  check(t:includesKey_(1), true)
  check(t:at_(1), nil)
  check(t:count(), 51)
  t:removeKey_(1)
  check(t:includesKey_(1), false)
  check(#t:keys(), 50)
  local seen = 0
  t:keysAndValuesDo_(function(key)
    seen = seen + 1
    t:removeKey_(key)
  end)
  check(seen, 50)
  check(t:count(), 0)
  reads(t, "{}")
end
check(D(A { 1, 2 }, "x"):at_(A { 1, 2 }), "x")
check(D(K.point(1, 2), "x"):at_(K.point(1, 2)), "x")
do -- a key does not follow later changes of the array it was
  local key = A { 1 }
  local t = D(key, "x")
  key:add_(2)
  check(t:at_(A { 1 }), "x")
  check(t:at_(A { 1, 2 }), nil)
end
raises("nilValue", function() return K.newDictionary():at_put_(nil, 1) end)
reads(send(d, "concat:", D("c", 3)), "{a:1,b:[1,2],c:3}")
reads(send(d, "collect:", function(v) return v end), "[1,[1,2]]")
reads(send(D("a", 1, "b", 2), "select:", function(v) return v > 1 end), "{b:2}")
reads(send(D("a", 1, "b", 2), "collectValues:", function(v) return v + 1 end), "{a:2,b:3}")
check(K.eq(D("a", 1, "b", 2), D("b", 2, "a", 1)), true)
check(send(D("a", 1, "b", 2), "sum"), 3)

-- Intervals, enumerators, sets, points ----------------------------------------------------------

local function to(a, b) return send(a, "to:", b) end
check(send(to(1, 3), "count"), 3)
check(send(to(5, 1), "count"), 0)
reads(send(to(1, 10), "asArray"), "[1,2,3,4,5,6,7,8,9,10]")
reads(send(send(1, "to:by:", 10, 3), "asArray"), "[1,4,7,10]")
reads(send(send(5, "to:by:", 1, -2), "asArray"), "[5,3,1]")
reads(send(send(0, "to:by:", 1, 0.25), "asArray"), "[0,0.25,0.5,0.75,1]")
check(send(to(1, 100), "sum"), 5050)
reads(to(1, 3), "(1 to: 3)")
reads(send(to(1, 3), "add:", 2), "(3 to: 5)")
reads(send(to(1, 3), "collect:", function(x) return x * x end), "[1,4,9]")
check(send(to(1, 10), "includes:", 11), false)
check(K.eq(to(1, 3), to(1, 3)), true)
check(send(send(A { "a", "b" }, "each"), "nextObject"), "a")
do
  local e = send(to(1, 2), "each")
  e:nextObject()
  check(e:atEnd(), false)
  check(e:nextObject(), 2)
  check(e:atEnd(), true)
  check(e:nextObject(), nil)
end
reads(send(G.Set, "withAll:", A { 1, 1, 2 }), "[1,2]")
check(send(K.set { 1, 2 }, "includes:", 2), true)
check(K.eq(K.set { 1, 2 }, K.set { 2, 1 }), true)
reads(send(K.set { 1, 2, 3 }, "intersection:", A { 2, 3, 4 }), "[2,3]")
check(send(K.set { 1, 2, 3 }, "count"), 3)
reads(K.add(K.point(2, 3), 1), "{3,4}")
reads(K.add(K.point(2, 3), K.point(1, 1)), "{3,4}")
reads(K.mul(3, K.point(1, 2)), "{3,6}")
reads(K.sub(10, K.point(1, 2)), "{9,8}")
reads(K.div(K.point(3, 4), 2), "{1.5,2}")
reads(send(K.point(2, 3), "extent:", K.point(10, 20)), "{{2,3},{10,20}}")
check(send(send(K.point(2, 3), "extent:", K.point(10, 20)), "width"), 10)
check(K.eq(K.point(1, 2), K.point(1, 2)), true)
check(K.property(K.point(3, 12), "x"), 3)

-- Higher-order messages -------------------------------------------------------------------------

reads(K.add(send(A { 1, 2, 3 }, "collect"), send(A { 1, 2, 3 }, "each")), "[2,4,6]")
reads(K.concat(send(A { "a", "b" }, "collect"), "!"), "[a!,b!]")
reads(send(send(abc, "select"), "hasPrefix:", "b"), "[b]")
reads(send(send(abc, "reject"), "hasPrefix:", "b"), "[a,c]")
check(K.add(send(to(1, 10), "reduce"), 0), 55)
check(K.mul(send(to(1, 5), "reduce"), 1), 120)
reads(K.div(send(A { 1, 2 }, "collect"), 2), "[0.5,1]")
reads(K.gt(send(A { 1, 2, 3 }, "select"), 1), "[2,3]")
reads(send(A { 1, 0 }, "collect"):_not(), "[false,true]")
check(send(send(A { 1, 2, 3 }, "selectFirst"), "isGreaterThan:", 1), 2)
do
  local seen = A {}
  send(seen, "do"):add_(1)
  reads(seen, "[]")
  local object = D()
  send(object, "do")
end

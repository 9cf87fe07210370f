-- Names of the original's base library (Foundation) that its programs use: run loops, sets of characters, the process.
local K = ...
local type, setmetatable = type, setmetatable
local classes = K.classes
local Object = classes.Object

-- Run loops ---------------------------------------------------------------------------------------

local RunLoop = classes.RunLoop
K.alias("NSRunLoop", RunLoop)
K.classMethods(RunLoop, {
  --- +<RunLoop> currentRunLoop
  --- +<RunLoop> mainRunLoop
  --- The run loop of the program, as `runLoop` answers it.
  --- > RunLoop currentRunLoop = runLoop ⇒ true
  ["currentRunLoop"] = function() return K.predefined.runLoop end,
  ["mainRunLoop"] = function() return K.predefined.runLoop end,
})

-- Sets of characters ------------------------------------------------------------------------------

--- Names for patterns of one character: `NSCharacterSet whitespaceCharacterSet` answers one, which `split:` takes.
local CharacterSet = K.newClass("CharacterSet", Object)
K.alias("NSCharacterSet", CharacterSet)
local function fixed(source)
  return function() return K.pattern(source) end
end
local blanksAndMarks = fixed("[\\s\\p{P}]")
K.classMethods(CharacterSet, {
  --- +<Pattern> whitespaceCharacterSet
  --- +<Pattern> whitespaceAndNewlineCharacterSet
  --- A pattern of one white space character, line breaks included.
  --- > 'a b' split: CharacterSet whitespaceCharacterSet ⇒ ['a', 'b']
  ["whitespaceCharacterSet"] = fixed("\\s"),
  ["whitespaceAndNewlineCharacterSet"] = fixed("\\s"),
  --- +<Pattern> punctuationCharacterSet
  --- A pattern of one punctuation mark of Unicode.
  --- > 'a,b' split: CharacterSet punctuationCharacterSet ⇒ ['a', 'b']
  ["punctuationCharacterSet"] = fixed("\\p{P}"),
  --- +<Pattern> whiteSpaceAndPunctuation
  --- A pattern of one white space character or punctuation mark.
  --- > 'a b,c' split: CharacterSet whiteSpaceAndPunctuation ⇒ ['a', 'b', 'c']
  ["whiteSpaceAndPunctuation"] = blanksAndMarks,
})
K.methods(classes.String, {
  --- -<Array> componentsSeparatedByCharactersInSet:<Pattern>set
  --- The parts between the characters of a set, empty ones included, as `split:` answers them.
  --- > 'a b' componentsSeparatedByCharactersInSet: CharacterSet whitespaceCharacterSet ⇒ ['a', 'b']
  ["componentsSeparatedByCharactersInSet:"] = function(self, set) return self:split_(set) end,
})

-- The process -------------------------------------------------------------------------------------

--- The running process: `NSProcessInfo processInfo environment`.
local ProcessInfo = K.newClass("ProcessInfo", Object)
K.alias("NSProcessInfo", ProcessInfo)
local process = setmetatable({}, ProcessInfo._methods)
K.classMethods(ProcessInfo, {
  --- +<ProcessInfo> processInfo
  --- The only process: this one.
  --- > ProcessInfo processInfo class ⇒ ProcessInfo
  ["processInfo"] = function() return process end,
})
K.methods(ProcessInfo, {
  --- -<Dictionary> environment
  --- The environment variables as a dictionary. `env:HOME` reads a single one.
  --- > (ProcessInfo processInfo environment at: 'PATH') = env:PATH ⇒ true
  ["environment"] = function()
    local environment = K.newDictionary()
    -- Not `K.schemeNamed`: a program may install a scheme of this name that asks for the environment.
    local store = K.native.scheme("env")
    local names = K.storeList(store, "", "env") or {}
    for i = 1, #names do environment:at_put_(names[i], K.storeGet(store, K.encodeSegment(names[i]), "env")) end
    return environment
  end,
  --- -<Array> arguments
  --- The arguments of the program, as `args` has them.
  --- > ProcessInfo processInfo arguments = args ⇒ true
  ["arguments"] = function() return K.predefined.args end,
})

-- Collections -------------------------------------------------------------------------------------

K.classMethods(classes.Set, {
  --- +<Set> setWithObjects:<any>elements
  --- A Set of the elements of a collection, or of one other object.
  --- > Set setWithObjects: ['a', 'b', 'a'] ⇒ #Set['a', 'b']
  ["setWithObjects:"] = function(class, elements)
    local isCollection = type(elements) == "table" and not K.isClass(elements) and elements._isCollection
    if isCollection then return class:withAll_(elements) end
    return class:with_(elements)
  end,
})
K.methods(classes.Collection, {
  --- -<Dictionary> mutableDictionaryByKey:<Block(each)|String>key
  --- -<Dictionary> dictionaryByKey:<Block(each)|String>key
  --- A Dictionary from the key of each element to the element; of several with the same key the last one stays. The key
  --- is a property's name or a block.
  --- > [#{ id: 7 }] dictionaryByKey: 'id' | at: 7 ⇒ #{ id: 7 }
  ["mutableDictionaryByKey:"] = function(self, key) return self:dictionaryByKey_(key) end,
  ["dictionaryByKey:"] = function(self, key)
    key = K.asBlock(key, "dictionaryByKey:")
    local dictionary = K.newDictionary()
    self:do_(function(element) dictionary:at_put_(K.orNull(key(element)), element) end)
    return dictionary
  end,
})

-- Encoders are not generated here: every class is encoded directly.
local function encoder(self) return self end
K.methods(classes.WriteStream, {
  --- -<nothing> writeObject:<any>object sender:<any>sender
  --- Writes an object, as `writeObject:` does; the sender is ignored.
  --- > stream := WriteStream new. stream writeObject: 1 sender: nil. stream target ⇒ [1]
  ["writeObject:sender:"] = function(self, object) return self:writeObject_(object) end,
  --- -<self> createEncoderMethodForClass:<Class>class
  --- The stream itself: classes need no encoder here.
  --- > (JSONWriter stream createEncoderMethodForClass: Object) class ⇒ JSONWriter
  ["createEncoderMethodForClass:"] = encoder,
})

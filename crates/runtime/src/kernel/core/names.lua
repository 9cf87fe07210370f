-- What names mean in a program: variables, predefined names, schemes.
local K = ...

K.schemes = {}
K.variables = {}
K.installed = {} -- names of schemes that the program installed, in order
K.declared = {} -- names of variables that may hold nil
K.predefined = {}
K.predefinedNames = {}
K.replacedDefault = false
-- The store in place of the program's variables, once `scheme:default` was replaced.
K.defaultStore = false

function K.predefine(name, value)
  K.predefined[name] = value
  K.predefinedNames[name] = true
end

-- `scheme:default ← store`: the store takes the place of the program's variables.
function K.replaceDefault(store)
  K.replacedDefault, K.defaultStore = true, store
end

-- What the compiler itself knows: names, and schemes without a store.

--- name self
--- The object that got the message, in a method or a handler.
--- > class Seed { -kind { 'bean' } -shout { self kind uppercaseString } }
--- > Seed new shout ⇒ BEAN

--- name super
--- The object that got the message, with the methods of its superclass.
--- > class Seed { -kind { 'seed' } }
--- > class Bean : Seed { -kind { super kind , ' of a bean' } }
--- > Bean new kind ⇒ seed of a bean

--- name this
--- The object in front of a variable: `this:title`. `this` alone is no value.
--- > class Task { var title. -shout { this:title uppercaseString } }
--- > #Task{ title: 'sow' } shout ⇒ SOW

--- name nil
--- No value. A message to it is nil, except where a value is needed.
--- > nil isNil ⇒ true

--- name true
--- The truth value of a condition that holds.
--- > 3 < 4 ⇒ true

--- name false
--- The truth value of a condition that does not hold.
--- > 4 < 3 ⇒ false

--- name newValue
--- The content of a request, or the value of an assignment, in the handlers `put`, `post` and `merge`.
--- > scheme Echo { /echo { post { newValue } } }
--- > #Echo{}
--- > POST /echo {"a":1} → 200 {"a":1}

--- name theRef
--- The reference that is read or written, in a handler.
--- > scheme Site { /here { get { theRef path } } }
--- > #Site{}
--- > GET /here → 200 /here

--- scheme ref
--- The reference itself, rather than its value.
--- > ref:file:notes/today.txt path ⇒ notes/today.txt

--- scheme var
--- A variable, and below it its keys, positions and properties.
--- > list := [ 'x', 'y' ].
--- > var:list/1 ⇒ y

--- scheme this
--- A variable of the object, in a method or a handler.
--- > class Task { var title. -shout { this:title uppercaseString } }
--- > #Task{ title: 'sow' } shout ⇒ SOW

--- scheme self
--- A property of the object, by its accessor, in a method or a handler.
--- > class Task { var title. -shout { self:title uppercaseString } }
--- > #Task{ title: 'sow' } shout ⇒ SOW

--- scheme default
--- The names without a scheme: the variables, or the store that `scheme:default` was set to.
--- > a := 3.
--- > default:a ⇒ 3

--- scheme port
--- A port of an object, an end of connections.
--- > seen ← #MutableArray[].
--- > pipe ← { :n | n * 2 } → port:seen/add:.
--- > pipe writeObject: 3.
--- > seen ⇒ [6]

-- What a browser gets where a program gets an error: the page to log in, or the form again with what is wrong.
local K = ...
local type, rawget, find = type, rawget, string.find
local native, try = K.native, K.try

local SEE_OTHER = 303 -- RFC 9110, section 15.4.4

-- The addresses that a redirect may name: paths of this server. A text of a client that names another server
-- is refused (CWE-601).
local function isLocal(address)
  return find(address, "^/[^/\\]") ~= nil and not find(address, "[%z\1-\32\127]") or address == "/"
end

-- `self redirect: ref:/articles/{slug}`: the browser goes there with GET.
local function redirect(_, target)
  local address
  if type(target) == "table" and target._isReference then
    address = K.webAddress(target)
    if not find(address, "^/") and not find(address, "^https?://") then
      K.throw("invalid", "redirect: takes a path such as ref:/tasks or an address of the web, not " .. address)
    end
  else
    address = K.str(target)
    if not isLocal(address) then
      K.throw("invalid", "redirect: takes a path of this server, not '" .. address .. "'",
        { _side = "request", i_hint = "write a reference for another server: `redirect: ref:https://…`" })
    end
  end
  native.respond("status", SEE_OTHER)
  native.respond("location", address)
  return ""
end
--- -<String> redirect:<Reference|String>target
--- Redirects the browser (303) to a path of this server, or with a reference to another server, for a handler to
--- answer. A text that names another server is an error.
--- > { :site | site redirect: ref:/articles/7 }
K.method(K.classes.Object, K.mangle("redirect:"), redirect)

--- -<String> redirectBack:<Reference|String>usual
--- Redirects the browser (303) to the path in the parameter `next`, where it was sent to log in from; without one, or
--- with the address of another server, to the argument.
--- > { :site | site redirectBack: '/' }
K.method(K.classes.Object, K.mangle("redirectBack:"), function(self, usual)
  local wanted = native.exchange("query", "next")
  if wanted == nil then wanted = native.exchange("form", "next") end
  if type(wanted) == "string" and isLocal(wanted) then return redirect(self, wanted) end
  return redirect(self, usual)
end)

-- Messages for the next page ------------------------------------------------------------------------------------

local COOKIE, LONGEST, SECONDS = "__Host-flash", 512, 60

local function setCookie(value, seconds)
  native.respond("set-cookie", COOKIE .. "=" .. value .. "; Path=/; Max-Age=" .. seconds .. "; HttpOnly; Secure; SameSite=Lax")
end

--- -<self> flash:<any>text
--- Shows a message on the next page that has a `#Flash{}`: it is a cookie of at most 512 bytes that lives for 60
--- seconds.
--- > { :site | site flash: 'The order is saved.' }
K.method(K.classes.Object, K.mangle("flash:"), function(self, text)
  text = K.str(text)
  if #text > LONGEST then K.throw("invalid", "flash: takes at most " .. LONGEST .. " bytes") end
  setCookie(K.classes.String._methods.base64url(text), SECONDS)
  return self
end)

--- The message of `flash:` in a page, shown once: `#Flash{}`.
local Flash = K.newClass("Flash", K.classes.Object)
Flash._plainName = true -- a program may have a class of this name
--- -<Element?> asHtml
--- The message as a paragraph, removed from the browser; nil without one.
--- > #Flash{} asHtml ⇒ nil
K.method(Flash, "asHtml", function()
  local sent = native.exchange("cookie", COOKIE)
  if sent == nil or #sent > 2 * LONGEST then return nil end
  local ok, text = try(K.classes.String._methods.base64urlDecoded, sent)
  setCookie("", 0)
  if not ok then return nil end
  local buffer = K.openMarkup()
  K.put(buffer, '<p class="message" role="status">')
  K.putEscaped(buffer, K.bytesOf(text, "flash:"))
  K.put(buffer, "</p>")
  return K.closeMarkup(buffer)
end)

-- Refusals ---------------------------------------------------------------------------------------------------

-- The status that a client gets for an error; faults of the program and of its stores are 500.
local function statusOf(fault)
  local side, kind = rawget(fault, "_side"), K.str(fault.i_kind)
  local status = fault.i_status or native.kindStatus(kind)
  if side == "store" and kind ~= "conflict" and kind ~= "unprocessable" then return 500 end
  return status
end

-- Problems by field: `/title` is that of `title`.
local function problemsOf(fault)
  local problems, message, fields = {}, nil, rawget(fault, "i_fields")
  local taken = K.str(fault.i_kind) == "conflict" and "This is taken already." or nil
  for i = 1, fields and #fields or 0 do
    local pointer, text = fields[i]:at_("pointer"), taken or fields[i]:at_("message")
    local name = string.match(pointer or "", "^/([^/]+)")
    if name then problems[name] = text else message = text end
  end
  -- What a store says of itself is not for clients.
  if next(problems) == nil and not message and rawget(fault, "_side") ~= "store" then message = fault.i_message end
  return problems, message and K.str(message) or nil
end

-- The page of the form: its `page`, or the same address.
local function shownAgain(object, path, fault)
  local status = statusOf(fault)
  if status < 400 or status >= 500 then return nil end
  local fields = native.exchange("form", "")
  local page = fields and fields:at_("_page")
  if type(page) ~= "string" or string.sub(page, 1, 1) ~= "/" then page = path end
  local problems, message = problemsOf(fault)
  local state = { fields = fields, problems = problems, message = message, id = fields and fields:at_("_form") }
  K.setFormState(state)
  local ok, answer = try(function()
    K.setPageAsked(page)
    local found, shown = K.tryPath(object, "get", page)
    if not found or type(shown) ~= "table" then return nil end
    if shown._kind ~= K.kinds.element then
      if not K.understands(shown, "asHtml") then return nil end
      shown = shown:asHtml()
    end
    return K.markup(K.html(shown))
  end)
  K.setFormState(nil)
  if not ok or answer == nil or not state.isShown then return nil end
  native.respond("status", status)
  return answer
end

-- The page to log in, from where one comes back to the page that was asked for.
local function placeToLogIn(page)
  if native.exchange("method", "") ~= "GET" then return page end
  local target = native.exchange("target", "") or "/"
  return page .. "?next=" .. K.classes.String._methods.urlEncoded(target)
end

-- Where a browser that a guard refused is sent; nil where nothing is said.
function K.placeToLogIn()
  local page = native.prefersPage() and K.pageToLogIn() or nil
  return page and placeToLogIn(page)
end

local function toLogIn(page)
  native.respond("status", SEE_OTHER)
  native.respond("location", placeToLogIn(page))
  return ""
end

-- Whether an error may become a page: of a form, and of any request once there is a page to log in.
function K.isForBrowser(verb)
  if verb == "get" and not K.hasPageToLogIn() then return false end
  return (verb == "get" or K.hasForm()) and native.prefersPage()
end

-- Asks the paths of an object for a browser.
function K.tryPathForBrowser(object, verb, path, value, reference, client)
  K.setPageAsked(verb == "get" and path or nil)
  local found, answer, seen
  local ok, fault = try(function() found, answer, seen = K.tryPath(object, verb, path, value, reference, client) end)
  if ok then return found, answer, seen end
  if type(fault) == "table" and fault._isError and not rawget(fault, "_uncatchable") then
    local page = rawget(fault, "_logInPage")
    if page then return true, toLogIn(page) end
    if verb ~= "get" then
      local again = shownAgain(object, path, fault)
      if again then return true, again end
    end
  end
  error(fault, 0)
end

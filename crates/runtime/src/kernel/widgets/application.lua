-- The application: `app runFromCLI: window` shows a window natively, or in a browser where there is no display, and
-- ends the program when the last window is closed.
local K = ...
local type, rawget, rawset, ipairs = type, rawget, rawset, ipairs
local native, classes = K.native, K.classes
local Widget, Window = K.classes.Widget, K.classes.Window

--- The program as a user sees it, with its windows: `app`.
local Application = K.newClass("Application", K.classes.Object)
K.alias("CLIApp", Application)
for _, key in ipairs { "_windows", "_wasShown" } do K.nilKeys[key] = true end
local app = setmetatable({ _windows = {} }, Application._methods)

local function windowOf(view)
  if K.isClass(view) and K.isSubclass(view, Widget) then view = view:new() end
  if not K.isWidget(view) then
    K.throw("typeError", "an application shows widgets, not " .. K.nameOf(view),
      { i_hint = "write `app runFromCLI: #Window{ title: 'Title', views: [ … ] }`" })
  end
  if K.isKind(view, Window) then return view end
  local window = Window:new()
  K.putProperty(window, "children", K.array { view })
  return window
end

-- Where another window opens: beside the one whose event is handled, else beside the first.
local function besides(window)
  local root = K.eventRoot() or app._windows[1]
  return root ~= window and root or nil
end

local function windowClosed(window)
  for i, one in ipairs(app._windows) do
    if one == window then
      table.remove(app._windows, i)
      break
    end
  end
  local owner = rawget(window, "_owner")
  if owner then
    local list = {}
    for _, one in ipairs(owner:dialogs()) do
      if one ~= window then list[#list + 1] = one end
    end
    rawset(window, "_owner", nil)
    K.putProperty(owner, "dialogs", K.array(list, #list))
  end
  local handler = K.givenProperty(window, "closed")
  if handler then handler(window) end
end

-- Windows beside the first one.
local MOST_WINDOWS = 100

local function open(window)
  local root = besides(window)
  if root then
    local list = { unpack(root:dialogs()) }
    if #list >= MOST_WINDOWS then
      K.throw("tooLarge", "a program shows at most " .. MOST_WINDOWS .. " windows beside the first one",
        { i_hint = "close one: `window close`" })
    end
    list[#list + 1] = window
    rawset(window, "_owner", root)
    K.putProperty(root, "dialogs", K.array(list, #list))
  else
    app._windows[#app._windows + 1] = window
  end
  if app._session then K.openInSession(app._session, window) end
  return window
end
K.nilKeys._session = true

-- The program ends with status 0.
local function leave() error(K.newError("exit", "exit", { _exit = 0, _uncatchable = true }), 0) end

local function serve(window, why)
  local server = classes.HTTPServer:new()
  server.i_port = K.predefined.servePort or 0
  server:setScheme_(window)
  if why then native.write(3, "no native window: " .. why .. "; open the address in a browser\n") end
  server:start()
  return window
end

-- Shows a view: answers at once where a browser shows it, and never where windows do.
local function run(view)
  local window = windowOf(view)
  rawset(window, "_wasShown", true)
  app._windows[1] = window
  if K.predefined.servePort ~= nil then return serve(window) end
  local ok, session = K.try(K.openNative, window, windowClosed)
  if not ok then
    if type(session) == "table" and session.i_kind == "unsupported" then return serve(window, session.i_message) end
    error(session, 0)
  end
  app._session = session
  for i = 2, #app._windows do K.openInSession(session, app._windows[i]) end
  K.runSession(session)
  leave()
end

-- A program that ends with a view shows it.
function K.runView(view)
  if rawget(view, "_wasShown") then return end
  return run(view)
end

K.methods(Application, {
  --- -<any> runFromCLI:<any>view
  --- -<any> run:<any>view
  --- Shows a widget, or a class of one, in a native window; the program ends with status 0 when its last window is
  --- closed. Without a display, or with `--port`, serves it for browsers and answers the window.
  --- > { app runFromCLI: #Window{ title: 'Hello', views: [ 'Hello World!' ] } }
  ["runFromCLI:"] = function(_, view) return run(view) end,
  ["run:"] = function(_, view) return run(view) end,
  --- -<Array> windows
  --- The windows that stand for themselves. Windows that opened beside another one are its `dialogs`.
  --- > app windows
  ["windows"] = function(self) return K.array({ unpack(self._windows) }, #self._windows) end,
  --- As in Object.
  ["description"] = function() return "the application" end,
})
K.methods(Widget, {
  --- -<Window> openInWindow:<any>title
  --- Opens the widget in a window of its own, beside the window whose event is handled, and answers that window.
  --- > { #Label{ value: 'Saved.' } openInWindow: 'Message' }
  ["openInWindow:"] = function(self, title)
    local window = windowOf(self)
    if title ~= nil then K.putProperty(window, "title", K.str(title)) end
    return open(window)
  end,
})
K.methods(Window, {
  --- -<self> open
  --- Opens the window beside the one whose event is handled. More than 100 windows beside the first one are an error.
  --- > { #Window{ title: 'Settings' } open }
  ["open"] = function(self) return open(self) end,
  --- -<self> close
  --- Closes the window and calls its handler `closed`.
  --- > { #Window{ title: 'Settings' } open close }
  ["close"] = function(self)
    if app._session then K.closeInSession(app._session, self) else windowClosed(self) end
    return self
  end,
})
--- name app
--- The application of windows: `quit` closes all of them.
--- > { app quit }
K.predefine("app", app)

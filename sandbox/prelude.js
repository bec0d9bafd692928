/* What stands in the engine before a script does. It gives the script `vault` and `console` and keeps the rest in this
   closure. Everything taken from the engine is taken now, because a script may put its own things in the place of
   JSON, Promise or the prototypes afterwards. Lists grow by `add` and objects have no prototype, so that no setter of
   the script is ever met; texts are made by `join`, because the host cannot take a string that `+` has made.
   The last value is the gate: the one function that the host's side holds, and no script can reach. */
(function () {
  "use strict";
  const parse = JSON.parse, stringify = JSON.stringify, text = String, Failure = Error, Later = Promise;
  const apply = Reflect.apply, define = Object.defineProperty, freeze = Object.freeze;
  const joined = Array.prototype.join, sliced = String.prototype.slice, repeated = String.prototype.repeat;
  const AsyncFunction = (async function () {}).constructor;
  const MESSAGE = 2000, STACK = 4000;
  /* A script's own lines begin below all lines of this file; the host subtracts them again. */
  const ABOVE = apply(repeated, "\n", [998]);

  let limits = { __proto__: null, value: 0, logs: 0 };
  let outbox = [], waiting = [], settled = 0, asked = 0;
  let logs = [], logged = 0, dropped = 0;
  let ended = "", isOver = false;

  function add(list, item) {
    define(list, list.length, { __proto__: null, value: item, writable: true, enumerable: true, configurable: true });
  }
  function join(parts, between) {
    return apply(joined, parts, [between === undefined ? "" : between]);
  }
  function cut(string, length) {
    return apply(sliced, string, [0, length]);
  }

  /* --- what a script may call ------------------------------------------------------------------- */

  function ask(name, first, options) {
    const failure = new Failure();
    return new Later(function (resolve, reject) {
      const parts = [stringify(name)];
      if (first !== undefined || options !== undefined) add(parts, plain(first));
      if (options !== undefined) add(parts, plain(options));
      add(outbox, join(["[", join(parts, ","), "]"]));
      add(waiting, { __proto__: null, resolve, reject, failure });
      asked += 1;
    });
  }
  function plain(value) {
    const made = stringify(value);
    return made === undefined ? "null" : made;
  }
  function settle(answer) {
    const call = waiting[settled];
    define(waiting, settled, { __proto__: null, value: undefined, writable: true, configurable: true });
    settled += 1;
    if (answer.refused === undefined) {
      call.resolve(answer.answer);
      return;
    }
    try {
      put(call.failure, "code", answer.refused.code);
      put(call.failure, "message", answer.refused.message);
    } catch { /* a script may have frozen it through Error.prepareStackTrace */ }
    call.reject(call.failure);
  }
  function put(object, key, value) {
    define(object, key, { __proto__: null, value, writable: true, configurable: true, enumerable: key === "code" });
  }
  const vault = freeze({
    __proto__: null,
    read: function read(path, options) { return ask("read", path, options); },
    search: function search(query, options) { return ask("search", query, options); },
    list: function list(folder, options) { return ask("list", folder, options); },
    links: function links(path, options) { return ask("links", path, options); },
  });

  function shown(value) {
    try {
      if (typeof value === "string") return value;
      if (typeof value === "object" && value !== null && !(value instanceof Failure)) {
        const made = stringify(value);
        if (made !== undefined) return made;
      }
      return text(value);
    } catch {
      return "(a value that cannot be shown)";
    }
  }
  function log(...values) {
    const parts = [];
    for (let i = 0; i < values.length; i++) add(parts, shown(values[i]));
    const line = join(parts, " ");
    if (logged + line.length > limits.logs) {
      dropped += 1;
      return;
    }
    logged += line.length + 1;
    add(logs, stringify(line));
  }
  const console = freeze({ __proto__: null, log, info: log, warn: log, error: log, debug: log });

  define(globalThis, "vault", { __proto__: null, value: vault });
  define(globalThis, "console", { __proto__: null, value: console, writable: true, configurable: true });

  /* --- how a script ends ------------------------------------------------------------------------ */

  function finish(value) {
    const made = plain(value);
    if (ended !== "") return;
    ended = made.length > limits.value
      ? join(['"over",', text(made.length)])
      : join(['"done",', made]);
  }
  function fail(thrown) {
    const full = thrown === null && isFull();
    const error = full ? { __proto__: null, name: "InternalError", message: "out of memory" } : thrown;
    const thing = (typeof error === "object" && error !== null) || typeof error === "function";
    const name = thing ? told(error, "name", 100) : "";
    const message = thing ? told(error, "message", MESSAGE) : cut(shown(error), MESSAGE);
    const code = thing ? told(error, "code", 100) : "", stack = thing ? told(error, "stack", STACK) : "";
    if (ended !== "") return;
    ended = join(['"failed",', join([stringify(name), stringify(message), stringify(code), stringify(stack)], ",")]);
  }
  function isFull() {
    /* The engine throws null where it has no memory left to make an error. */
    try {
      apply(repeated, "x", [4 << 20]);
      return false;
    } catch {
      return true;
    }
  }
  function told(error, key, length) {
    try {
      const value = error[key];
      return typeof value === "string" ? cut(value, length) : "";
    } catch {
      return "";
    }
  }
  function begin(order) {
    limits = order;
    let script;
    try {
      script = new AsyncFunction(join([ABOVE, order.script]));
    } catch (error) {
      fail(error);
      return;
    }
    (async function () {
      let value;
      try {
        value = await script();
      } catch (error) {
        /* Set before anything that takes memory: an end that cannot be told for want of it is known all the same. */
        isOver = true;
        fail(error);
        return;
      }
      isOver = true;
      try {
        finish(value);
      } catch (error) {
        fail(error);
      }
    })();
  }

  /* One line for the host: what was logged since the last one, then either how the script ended or what it asks. */
  function drain() {
    const kept = join(["[", join(logs, ","), "],", text(dropped)]);
    logs = [];
    if (ended !== "") return join(["[", ended, ",", kept, "]"]);
    if (isOver) return '["spent","memory"]';
    if (outbox.length === 0) return join(['["stuck",', kept, "]"]);
    const calls = join(outbox, ",");
    outbox = [];
    return join(['["calls",[', calls, "],", kept, "]"]);
  }

  return function gate(step, line) {
    if (step === "ended") return ended !== "";
    if (step === "open") return asked - settled;
    if (step === "drain") return drain();
    if (step === "settle") return settle(parse(line));
    return begin(parse(line));
  };
})()

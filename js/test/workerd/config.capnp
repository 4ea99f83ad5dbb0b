using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "readers", worker = .readers),
    # Without this a worker may not connect to this machine.
    (name = "loopback", network = (allow = ["local"])),
  ],
  # The port is whichever is free; workerd tells it on --control-fd.
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "readers")],
);

const readers :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  modules = [
    (name = "readers.js", esModule = embed "readers.js"),
    (name = "workerd.js", esModule = embed "../../dist/workerd.js"),
    (name = "watchglass.wasm", wasm = embed "../../dist/watchglass.wasm"),
  ],
  globalOutbound = "loopback",
  bindings = [(name = "READER", durableObjectNamespace = "Reader")],
  durableObjectNamespaces = [(className = "Reader", uniqueKey = "reader")],
  durableObjectStorage = (inMemory = void),
);

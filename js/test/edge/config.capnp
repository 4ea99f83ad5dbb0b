using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    # --directory-path says where.
    (name = "objects", disk = (writable = true)),
  ],
  # The port is whichever is free; workerd tells it on --control-fd.
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")],
);

const edge :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  # For taking objects out of memory; workerd wants --experimental for it.
  compatibilityFlags = ["unsafe_module"],
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "edge.js", esModule = embed "../../dist/edge.js"),
    (name = "watchglass.wasm", wasm = embed "../../dist/watchglass.wasm"),
  ],
  bindings = [
    (name = "EDGE", durableObjectNamespace = "Edge"),
    (name = "FULL", durableObjectNamespace = "Full"),
    (name = "SCARCE", durableObjectNamespace = "Scarce"),
    (name = "GROWING", durableObjectNamespace = "Growing"),
    (name = "TINY", durableObjectNamespace = "Tiny"),
    (name = "LIVELY", durableObjectNamespace = "Lively"),
    (name = "SELDOM", durableObjectNamespace = "Seldom"),
    (name = "IMPATIENT", durableObjectNamespace = "Impatient"),
    (name = "PATIENT", durableObjectNamespace = "Patient"),
    (name = "CROWDED", durableObjectNamespace = "Crowded"),
    (name = "CALM", durableObjectNamespace = "Calm"),
    (name = "BURDENED", durableObjectNamespace = "Burdened"),
    (name = "OUTGROWN", durableObjectNamespace = "Outgrown"),
    (name = "TIGHT", durableObjectNamespace = "Tight"),
    (name = "TIGHTEST", durableObjectNamespace = "Tightest"),
    (name = "UNUSED", durableObjectNamespace = "Unused"),
    (name = "HASTY", durableObjectNamespace = "Hasty"),
    (name = "FORMER", durableObjectNamespace = "Former"),
    (name = "REGION", durableObjectNamespace = "Region"),
  ],
  durableObjectNamespaces = [
    (className = "Edge", uniqueKey = "edge", enableSql = true),
    (className = "Full", uniqueKey = "full", enableSql = true),
    (className = "Scarce", uniqueKey = "scarce", enableSql = true),
    (className = "Growing", uniqueKey = "growing", enableSql = true),
    (className = "Tiny", uniqueKey = "tiny", enableSql = true),
    (className = "Lively", uniqueKey = "lively", enableSql = true),
    (className = "Seldom", uniqueKey = "seldom", enableSql = true),
    (className = "Impatient", uniqueKey = "impatient", enableSql = true),
    (className = "Patient", uniqueKey = "patient", enableSql = true),
    (className = "Crowded", uniqueKey = "crowded", enableSql = true),
    (className = "Calm", uniqueKey = "calm", enableSql = true),
    (className = "Burdened", uniqueKey = "burdened", enableSql = true),
    (className = "Outgrown", uniqueKey = "outgrown", enableSql = true),
    (className = "Tight", uniqueKey = "tight", enableSql = true),
    (className = "Tightest", uniqueKey = "tightest", enableSql = true),
    (className = "Unused", uniqueKey = "unused", enableSql = true),
    (className = "Hasty", uniqueKey = "hasty", enableSql = true),
    (className = "Former", uniqueKey = "former", enableSql = true),
    (className = "Region", uniqueKey = "region", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
);

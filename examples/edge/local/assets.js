// Serves the files of the dashboard locally, in place of Cloudflare's static assets.
const types = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  wasm: "application/wasm",
};

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const name = pathname === "/" ? "/index.html" : pathname;
    const type = types[name.slice(name.lastIndexOf(".") + 1)];
    const file = type ? await env.FILES.fetch(new URL(name, "http://files")) : undefined;
    if (!file?.ok) return new Response("there is no such file\n", { status: 404 });
    return new Response(file.body, { headers: { "Content-Type": type } });
  },
};

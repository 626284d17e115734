local writ = import 'writ.libsonnet';
local uses = { web: ['api'], api: ['store', 'cache'], store: [], cache: [] };
{
  [n]: writ.app(n, {
    image: 'registry.example/%s@sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' % n,
    ports: { [n]: { port: 8000 } },
    probes: { exec: { command: ['/ok', n] } },
    dependencies: { [d]: { service: '%s:%s' % [d, d] } for d in uses[n] },
  })
  for n in std.objectFields(uses)
}

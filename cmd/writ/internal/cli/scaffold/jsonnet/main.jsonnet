local writ = import 'writ.libsonnet';

function(replicas) {
  // web is an application: pods that run an image, and a Service in front of them.
  web: writ.app('web', {
    image: 'example/web:1',
    replicas: std.parseInt(replicas),
    ports: { http: { port: 8080, public: true } },
    probes: { http: { path: '/healthz' } },
    // What web connects to goes here; everything else is refused.
    // dependencies: { store: { service: 'store:6379' } },
  }),
}

// The same guestbook in Jsonnet: writ up examples/guestbook --entry jsonnet
local writ = import 'writ.libsonnet';

function(image_web, image_api, image_store, image_intruder) {
  web: writ.app('web', {
    image: image_web,
    replicas: 2,
    ports: { http: { port: 8080, public: true } },
    probes: { http: { path: '/healthz' } },
    dependencies: { api: { service: 'api:8080' } },
  }),

  api: writ.app('api', {
    image: image_api,
    ports: { http: { port: 8080 } },
    probes: { http: { path: '/healthz' } },
    dependencies: { store: { service: 'store:6379' } },
  }),

  store: writ.app('store', {
    image: image_store,
    ports: { store: { port: 6379 } },
    probes: { tcp: { port: 'store' } },
  }),

  // The intruder declares nothing, so it reaches nothing.
  intruder: writ.app('intruder', { image: image_intruder }),
}

local writ = import 'writ.libsonnet';

function(image_web) {
  web: writ.app('web', {
    namespace: 'shop',
    image: image_web,
    replicas: 3,
    command: ['/web'],
    args: ['--listen', ':8080', '--verbose=yes'],
    ports: {
      http: { port: 80, target: 8080, public: true, nodePort: 30080 },
      dns: { port: 53, protocol: 'UDP', target: 5353 },
      admin: { port: 9000 },
    },
    env: {
      GREETING: 'no',
      PASSWORD: { secret: { name: 'creds', key: 'password' } },
      LEVEL: { configMap: { name: 'levels', key: 'web', optional: true } },
      POD: { field: 'metadata.name' },
    },
    dependencies: {
      api: { service: 'api:8080' },
      db: { service: 'data/db:postgres', start: 'ready' },
    },
    probes: {
      http: { path: '/healthz' },
      period: 2,
      failures: 5,
      live: { tcp: { port: 'admin' }, delay: 3, timeout: 2 },
    },
    config: {
      'web.conf': 'a = 1\nb = "ü"\n',
      'A.txt': '',
    },
    configDir: '/config',
    resources: {
      requests: { cpu: '100m', memory: '64Mi' },
      limits: { memory: '128Mi' },
    },
    labels: { team: 'blue' },
  }) + { deployment+: { spec+: { template+: { spec+: { terminationGracePeriodSeconds: 5 } } } } },
}

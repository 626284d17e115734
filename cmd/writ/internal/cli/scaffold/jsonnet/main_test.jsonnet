{
  tests: {
    'production has three replicas': {
      env: 'prod',
      expect: [{ kind: 'Deployment', name: 'web', fields: { '.spec.replicas': 3 } }],
    },
    'the web is public': {
      env: 'dev',
      expect: [{ kind: 'Service', name: 'web', match: { spec: { type: 'NodePort' } } }],
    },
  },
}

// What must hold of the guestbook in Jsonnet: writ test examples/guestbook
local guestbook = (import 'main.jsonnet')('web:1', 'api:1', 'store:1', 'intruder:1');
local writ = import 'writ.libsonnet';

local documents = std.flattenArrays([
  if std.objectHas(app, 'kind') then [app] else [app[part] for part in std.objectFields(app)]
  for app in std.objectValues(guestbook)
]);

{
  tests: {
    'the intruder declares nothing': {
      got: [d.metadata.name for d in documents if std.isObject(d) && std.get(d, 'kind') == 'Dependency' && d.spec.consumer.name == 'intruder'],
      want: [],
    },
    'an app needs an image': {
      value: writ.app('x', {}),
      fail: 'image',
    },
    'every document that is deployed': {
      snapshot: 'guestbook',
    },
    'two connections are declared': {
      expect: [
        { kind: 'Dependency', count: 2 },
        { kind: 'Dependency', name: 'web-api', match: { spec: { target: { service: { name: 'api', ports: ['8080'] } } } } },
        { kind: 'Dependency', name: 'api-store', match: { spec: { consumer: { kind: 'Deployment', name: 'api' } } } },
        { kind: 'Dependency', name: 'web-store', absent: true },
      ],
    },
    'an image is a reference': {
      inputs: { image_web: 'not an image' },
      fail: 'image',
    },
  },
}

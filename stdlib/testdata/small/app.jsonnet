local writ = import 'writ.libsonnet';
{ job: writ.app('worker', { image: 'worker:1' }) }

# -*- coding: utf-8 -*-
# vim: ft=sls
{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import @NAME@ with context %}

include:
  - .package
  - .config
  - .service
{%- if @NAME@.get('absent', False) %}
  - .clean
{%- endif %}

#!/bin/sh
echo "{{ who }} $# $1 $2"
pwd
exit 0

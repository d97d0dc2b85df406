#!/bin/sh
echo begun
sleep 9

class Asset < UserUpload
end
